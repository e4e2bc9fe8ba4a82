#include "column_code.h"

#include "varint.h"

static unsigned bit_length(uint64_t value) { return value ? 64u - (unsigned)__builtin_clzll(value) : 0; }

static uint64_t zigzag(uint64_t difference) { return difference << 1 ^ (uint64_t)((int64_t)difference >> 63); }

/* The bits that an exception takes: its place and the step. */
static uint32_t exception_bits(unsigned length) { return 8 + 8 * ((length + 6) / 7); }

/* From the widest step down: what is wider than w is listed, the rest packed in w bits. */
static void choose_width(struct xw_steps *steps, const uint8_t n_of_length[65])
{
    uint32_t listed = 0, listed_bits = 0;
    steps->cost = ~0u;
    for (unsigned w = 64;; w--) {
        const uint32_t cost = listed_bits + steps->n * w;
        if (w <= XW_MAX_WIDTH && cost < steps->cost) {
            steps->cost = cost;
            steps->width = w;
            steps->n_exceptions = listed;
        }
        if (!w)
            return;
        listed += n_of_length[w];
        listed_bits += n_of_length[w] * exception_bits(w);
    }
}

void xw_steps_of(struct xw_steps *steps, const uint64_t *number, uint32_t n)
{
    uint8_t n_of_length[65] = {0}; /* n fits */
    steps->n = n;
    steps->step[0] = 0;
    for (uint32_t i = 1; i < n; i++) {
        steps->step[i] = zigzag(number[i] - number[i - 1]);
        n_of_length[bit_length(steps->step[i])]++;
    }
    choose_width(steps, n_of_length);
}

static int is_exception(const struct xw_steps *steps, uint32_t i) { return steps->step[i] >> steps->width != 0; }

uint8_t *xw_put_exceptions(uint8_t *at, const struct xw_steps *steps)
{
    uint32_t left = steps->n_exceptions, next = 0;
    at = xw_put_varint(at, left);
    for (uint32_t i = 0; left; i++) {
        if (!is_exception(steps, i))
            continue;
        at = xw_put_varint(at, i - next);
        at = xw_put_varint(at, steps->step[i]);
        next = i + 1;
        left--;
    }
    return at;
}

uint8_t *xw_pack_steps(uint8_t *at, const struct xw_steps *steps)
{
    struct xw_bit_writer bits = {.at = at};
    if (!steps->width)
        return at;
    for (uint32_t i = 0; i < steps->n; i++)
        xw_put_bits(&bits, is_exception(steps, i) ? 0 : steps->step[i], steps->width);
    return xw_end_bits(&bits);
}
