/*
 * Numbers and names in the digest: padded, with SI prefixes, without stdio.
 */
#ifndef XW_DIGEST_NUMBERS_H
#define XW_DIGEST_NUMBERS_H

#include "os.h"
#include "text.h"

/* A name from outside: what is not printable ASCII becomes '?', so that nothing reaches a terminal as a command. */
void xw_digest_clean(struct xw_text *text, const char *string) XW_HIDDEN;
/* The string and spaces up to `width`, or spaces before it. */
void xw_digest_pad(struct xw_text *text, const char *string, unsigned width) XW_HIDDEN;
void xw_digest_pad_left(struct xw_text *text, const char *string, unsigned width) XW_HIDDEN;
/* A number that is not negative with `decimals` (at most 6) digits after the point. */
void xw_digest_fixed(struct xw_text *text, double value, unsigned decimals) XW_HIDDEN;
/* Three significant digits, an SI prefix and the unit, right-aligned: "12.3 MB", "  450 /s"; percentages and plain
 * small numbers as they are. */
void xw_digest_quantity(struct xw_text *text, double value, const char *unit, unsigned width) XW_HIDDEN;

#endif
