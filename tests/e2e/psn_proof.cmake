# SPDX-License-Identifier: Apache-2.0
rdmend_vm_program(e2e_psn_proof SOURCES psn_proof_test.cpp LINKS PkgConfig::VERBS Threads::Threads RUN TWO_HOSTS TIMEOUT 120)
