# SPDX-License-Identifier: Apache-2.0
rdmend_vm_program(e2e_sources SOURCES sources_test.cpp LINKS rdmend_sources rdmend_loop RUN TWO_HOSTS EVINJECT TIMEOUT 300)
