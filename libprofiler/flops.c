/*
 * Sources: the processor vendors' event lists as the Linux kernel carries them (tools/perf/pmu-events/arch/x86):
 *   AMD    fp_ret_sse_avx_ops.all, event 0x03; a multiply-add counts two; x87 is not in it
 *   Intel  FP_ARITH_INST_RETIRED, event 0xC7; one umask bit per width, which counts instructions, a multiply-add twice
 */
#include "flops.h"

struct xw_processor xw_processor_read(void)
{
    struct xw_processor processor = {XW_VENDOR_OTHER, 0, 0};
    uint32_t eax = 0, ebx, ecx = 0, edx;
    __asm__("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
    if (ebx == 0x68747541 && edx == 0x69746e65 && ecx == 0x444d4163) /* "Auth" "enti" "cAMD" */
        processor.vendor = XW_VENDOR_AMD;
    else if (ebx == 0x756e6547 && edx == 0x49656e69 && ecx == 0x6c65746e) /* "Genu" "ineI" "ntel" */
        processor.vendor = XW_VENDOR_INTEL;
    eax = 1, ecx = 0;
    __asm__("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
    unsigned base_family = eax >> 8 & 15, base_model = eax >> 4 & 15;
    processor.family = base_family == 15 ? base_family + (eax >> 20 & 255) : base_family;
    processor.model = base_family == 6 || base_family == 15 ? base_model | (eax >> 12 & 0xf0) : base_model;
    return processor;
}

/* The umask of event 0x03 that takes in all kinds of operation; 0: not known. */
static unsigned amd_umask(unsigned family, unsigned model)
{
    unsigned range = model >> 4;
    switch (family) {
    case 0x17: /* Zen, Zen 2 */
        return 0xff;
    case 0x19: /* Zen 3: 00-0f, 20-2f, 40-5f; the others are Zen 4 */
        return range == 0 || range == 2 || range == 4 || range == 5 ? 0xff : 0x1f;
    case 0x1a: /* Zen 5: the upper half selects types */
        return 0x0f;
    default:
        return 0;
    }
}

/* Processors of family 6 with FP_ARITH_INST_RETIRED on all their cores. Hybrids are left out: their small cores have
 * another event. */
static int intel_has_fp_arith(unsigned model)
{
    static const uint8_t models[] = {
        0x3d, 0x47, 0x4f, 0x56,             /* Broadwell */
        0x4e, 0x5e, 0x8e, 0x9e, 0xa5, 0xa6, /* Skylake, Kaby, Coffee, Comet Lake */
        0x55,                               /* Skylake, Cascade Lake, Cooper Lake servers */
        0x6a, 0x6c, 0x7d, 0x7e, 0xa7,       /* Ice Lake, Rocket Lake */
        0x8c, 0x8d,                         /* Tiger Lake */
        0x8f, 0xcf,                         /* Sapphire Rapids, Emerald Rapids */
    };
    for (unsigned i = 0; i < sizeof models; i++)
        if (models[i] == model)
            return 1;
    return 0;
}

unsigned xw_flops_events(struct xw_processor processor, struct xw_raw_event events[XW_FLOPS_MAX_EVENTS])
{
    if (processor.vendor == XW_VENDOR_AMD) {
        unsigned umask = amd_umask(processor.family, processor.model);
        events[0] = (struct xw_raw_event){0x03 | (uint64_t)umask << 8, 1};
        return umask != 0;
    }
    if (processor.vendor == XW_VENDOR_INTEL && processor.family == 6 && intel_has_fp_arith(processor.model)) {
        static const struct xw_raw_event fp_arith[XW_FLOPS_MAX_EVENTS] = {
            {0x03c7, 1},  /* scalar double, scalar single */
            {0x04c7, 2},  /* 128 bits: double */
            {0x18c7, 4},  /* 128 bits: single; 256 bits: double */
            {0x60c7, 8},  /* 256 bits: single; 512 bits: double */
            {0x80c7, 16}, /* 512 bits: single */
        };
        for (unsigned i = 0; i < XW_FLOPS_MAX_EVENTS; i++)
            events[i] = fp_arith[i];
        return XW_FLOPS_MAX_EVENTS;
    }
    return 0;
}
