#include "digest_numbers.h"

void xw_digest_clean(struct xw_text *text, const char *string)
{
    for (; *string; string++)
        xw_text_char(text, *string >= ' ' && *string <= '~' ? *string : '?');
}

static void add_spaces(struct xw_text *text, size_t used, unsigned width)
{
    for (; used < width; used++)
        xw_text_char(text, ' ');
}

void xw_digest_pad(struct xw_text *text, const char *string, unsigned width)
{
    xw_text_add(text, string);
    add_spaces(text, xw_length(string), width);
}

void xw_digest_pad_left(struct xw_text *text, const char *string, unsigned width)
{
    add_spaces(text, xw_length(string), width);
    xw_text_add(text, string);
}

void xw_digest_fixed(struct xw_text *text, double value, unsigned decimals)
{
    uint64_t scale = 1;
    for (unsigned i = 0; i < decimals; i++)
        scale *= 10;
    if (value > 1e12)
        value = 1e12;
    uint64_t scaled = (uint64_t)(value * (double)scale + 0.5);
    xw_text_number(text, scaled / scale);
    if (!decimals)
        return;
    xw_text_char(text, '.');
    uint64_t fraction = scaled % scale;
    for (uint64_t digit = scale / 10; digit; digit /= 10)
        xw_text_char(text, (char)('0' + fraction / digit % 10));
}

/* Digits after the point for three significant ones, given that the number will be rounded. */
static unsigned decimals_of(double value) { return value < 9.995 ? 2 : value < 99.95 ? 1 : 0; }

/* Bring a value into 1 to 999 by an SI prefix; times only downwards, percentages not at all. Returns the prefix or 0.
 */
static char scale(double *value, const char *unit)
{
    static const char up[] = "kMGTPE", down[] = "mun";
    char prefix = 0;
    if (*unit == '%')
        return 0;
    if (*unit != 's')
        for (const char *next = up; *value >= 999.5 && *next; prefix = *next++)
            *value /= 1000;
    else
        for (const char *next = down; *value > 0 && *value < 0.9995 && *next; prefix = *next++)
            *value *= 1000;
    return prefix;
}

void xw_digest_quantity(struct xw_text *text, double value, const char *unit, unsigned width)
{
    char number[32];
    struct xw_text out = xw_text_begin(number, sizeof number);
    if (!(value >= 0)) /* also what is no number */
        value = 0;
    char prefix = scale(&value, unit);
    int whole = !prefix && value < 1e15 && value == (double)(uint64_t)value;
    xw_digest_fixed(&out, value, whole ? 0 : decimals_of(value));
    if (prefix || *unit)
        xw_text_char(&out, ' ');
    if (prefix)
        xw_text_char(&out, prefix);
    xw_text_add(&out, unit);
    xw_digest_pad_left(text, number, width);
}
