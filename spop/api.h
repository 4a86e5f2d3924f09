/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPOP_API_H
#define SPOP_API_H

/* How the library's functions are declared. */

/* Seen from outside a shared library; all else is hidden there. */
#define SPOP_API __attribute__((visibility("default")))

/* As SPOP_API, and the result must be looked at. */
#define SPOP_CHECKED __attribute__((visibility("default"), warn_unused_result))

#endif
