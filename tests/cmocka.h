/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CMOCKA_H
#define TESTS_CMOCKA_H

/* cmocka wants these four before its own header. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
