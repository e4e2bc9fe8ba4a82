/* What every unit test includes: cmocka and what it needs first. */
#ifndef XW_UNIT_H
#define XW_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
