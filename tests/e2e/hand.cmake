# SPDX-License-Identifier: Apache-2.0
add_executable(qp_owner ${PROJECT_SOURCE_DIR}/tests/support/qp_owner.c)
target_compile_options(qp_owner PRIVATE -Wall -Wextra)
target_link_libraries(qp_owner PRIVATE PkgConfig::VERBS Threads::Threads)

# In this order: the last file takes the devices away.
rdmend_vm_program(e2e_hand SOURCES hand_test.cpp hand_churn_test.cpp hand_rights_test.cpp
                  LINKS rdmend_hand_client rdmend_hand_netlink rdmend_verbs rdmend_loop RUN TWO_HOSTS TIMEOUT 900)
target_compile_definitions(e2e_hand PRIVATE RDMEND_HAND="$<TARGET_FILE:rdmend-hand>" QP_OWNER="$<TARGET_FILE:qp_owner>")
add_dependencies(e2e_hand rdmend-hand qp_owner)
rdmend_vm_test(NAME e2e_hand_systemd COMMAND hand-systemd.sh TWO_HOSTS SYSTEMD TIMEOUT 300)
