#include "digest.h"

#include "digest_numbers.h"
#include "spool_header.h"

/* No pointers in constant tables here: each would cost every process a relocation. */
static const char class_names[XW_N_CLASSES][24] = {
    [XW_CLASS_NET] = "parallel/network fs",
    [XW_CLASS_DISK] = "local disk",
    [XW_CLASS_MEM] = "memory and pseudo fs",
    [XW_CLASS_PIPE] = "pipes",
    [XW_CLASS_SOCK] = "sockets",
    [XW_CLASS_OTHER] = "terminals, devices",
};

/* The text that every spool file carries has all names, one a line behind a keyword. Moves `at` behind the next such
   line; 0: there is none. */
static int next_name(const char **at, const char *keyword, char *name, size_t size)
{
    while (**at) {
        const char *line = *at, *word = keyword;
        while (**at && *(*at)++ != '\n') {
        }
        while (*word && *line == *word)
            line++, word++;
        if (*word || *line != ' ')
            continue;
        struct xw_text text = xw_text_begin(name, size);
        for (line++; *line != ' ' && *line != '\n'; line++)
            xw_text_char(&text, *line);
        return 1;
    }
    return 0;
}

#define LABEL_WIDTH 34u
#define NUMBER_WIDTH 12u

/* How many of the ranks the numbers speak of. */
static int answered(const struct xw_digest_report *report) { return report->alone ? 1 : report->ranks; }

static double average(const struct xw_digest_report *report, unsigned measure)
{
    return report->sum[measure] / answered(report);
}

static void begin_line(struct xw_text *text, const char *label)
{
    xw_text_add(text, "crosswind: ");
    xw_digest_pad(text, label, LABEL_WIDTH);
}

static void add_head(struct xw_text *text, const struct xw_digest_report *report)
{
    xw_text_add(text, "crosswind: ");
    if (*report->job_id) {
        xw_text_add(text, "job ");
        xw_digest_clean(text, report->job_id);
        xw_text_add(text, ", ");
    }
    xw_digest_clean(text, report->program);
    xw_text_add(text, ", ");
    xw_text_number(text, (uint64_t)report->ranks);
    xw_text_add(text, report->ranks == 1 ? " rank" : " ranks");
    uint64_t nodes = (uint64_t)(report->sum[XW_DIGEST_NODE] + 0.5);
    if (!report->alone && report->minimum[XW_DIGEST_NODE] > 0 && nodes) {
        xw_text_add(text, " on ");
        xw_text_number(text, nodes);
        xw_text_add(text, nodes == 1 ? " node" : " nodes");
    }
    xw_text_add(text, " (");
    xw_text_add(text, report->mpi);
    xw_text_add(text, "), ");
    xw_digest_fixed(text, report->maximum[XW_DIGEST_WALL], 1);
    xw_text_add(text, " s\n");
    if (report->alone)
        xw_text_add(text, "crosswind: the other ranks did not answer in time (does each have the library?): numbers of "
                          "rank 0 alone\n");
}

static void add_row(struct xw_text *text, const struct xw_digest_report *report, const char *label, unsigned measure,
                    const char *unit)
{
    const double values[] = {report->minimum[measure], average(report, measure), report->maximum[measure]};
    begin_line(text, label);
    for (unsigned i = 0; i < 3; i++)
        xw_digest_quantity(text, values[i], unit, NUMBER_WIDTH);
    xw_text_char(text, '\n');
}

static void add_row_if(struct xw_text *text, const struct xw_digest_report *report, const char *label, unsigned measure,
                       const char *unit)
{
    if (report->maximum[measure] > 0)
        add_row(text, report, label, measure, unit);
}

static void add_class(struct xw_text *text, const struct xw_digest_report *report, unsigned cls,
                      enum xw_digest_layer layer)
{
    unsigned first = XW_DIGEST_CLASS(cls, layer, 0);
    char label[48];
    struct xw_text name = xw_text_begin(label, sizeof label);
    xw_text_add(&name, layer == XW_DIGEST_POSIX ? "POSIX, " : "stdio, ");
    xw_text_add(&name, class_names[cls]);
    add_row(text, report, label, first + XW_DIGEST_IO_CALLS, "ops");
    if (!report->full) {
        add_row_if(text, report, "  bytes", first + XW_DIGEST_IO_BYTES, "B");
        return;
    }
    add_row_if(text, report, "  read", first + XW_DIGEST_IO_READ, "B");
    add_row_if(text, report, "  written", first + XW_DIGEST_IO_WRITTEN, "B");
}

/* Short: file systems that bytes were moved on. Full: every class with a call. */
static void add_classes(struct xw_text *text, const struct xw_digest_report *report)
{
    unsigned n_classes = report->full ? XW_N_CLASSES : XW_CLASS_MEM + 1;
    for (unsigned cls = 0; cls < n_classes; cls++) {
        for (unsigned layer = 0; layer < XW_DIGEST_N_LAYERS; layer++) {
            const double *sum = &report->sum[XW_DIGEST_CLASS(cls, layer, 0)];
            if (sum[report->full ? XW_DIGEST_IO_CALLS : XW_DIGEST_IO_BYTES] > 0)
                add_class(text, report, cls, (enum xw_digest_layer)layer);
        }
    }
}

/* Where far fewer or more threads were at work than was asked for, it is said in a line: by ranks on average. */
static void add_threads(struct xw_text *text, const struct xw_digest_report *report)
{
    add_row(text, report, "effective threads (CPU/run time)", XW_DIGEST_THREADS, "");
    add_row_if(text, report, "  in the busiest slice", XW_DIGEST_BUSIEST, "");
    add_row_if(text, report, "  OMP_NUM_THREADS", XW_DIGEST_OMP, "");
    const double asked = average(report, XW_DIGEST_OMP), used = average(report, XW_DIGEST_THREADS);
    if (asked > 0 && used < asked / 2)
        xw_text_add(text, "crosswind: fewer than half of the threads that OMP_NUM_THREADS asks for were at work\n");
    if (asked > 0 && used > asked * 1.5)
        xw_text_add(text, "crosswind: more threads were at work than OMP_NUM_THREADS asks for\n");
}

static void add_processor(struct xw_text *text, const struct xw_digest_report *report)
{
    if (report->maximum[XW_DIGEST_FLOPS] > 0)
        add_row(text, report, "floating-point operations", XW_DIGEST_FLOPS, "/s");
    else if (report->maximum[XW_DIGEST_INSTRUCTIONS] > 0)
        add_row(text, report, "instructions", XW_DIGEST_INSTRUCTIONS, "/s");
    add_threads(text, report);
    if (report->maximum[XW_DIGEST_FLOPS] + report->maximum[XW_DIGEST_INSTRUCTIONS] == 0)
        xw_text_add(text, "crosswind: no hardware counters here: CPU time stands for work done\n");
}

static void add_lost(struct xw_text *text, const struct xw_digest_report *report)
{
    const char *at = xw_table_text;
    char name[32];
    int any = 0;
    for (unsigned what = 0; what < XW_N_LOST && next_name(&at, "lost", name, sizeof name); what++) {
        if (report->sum[XW_DIGEST_LOST(what)] == 0)
            continue;
        xw_text_add(text, any++ ? ", " : "crosswind: lost: ");
        xw_text_add(text, name);
        xw_text_char(text, ' ');
        xw_text_number(text, (uint64_t)report->sum[XW_DIGEST_LOST(what)]);
    }
    if (any)
        xw_text_char(text, '\n');
}

/* The tool that shows more of what took the time. */
static const char *next_tool(const struct xw_digest_report *report)
{
    double mpi = average(report, XW_DIGEST_MPI_SHARE), io = average(report, XW_DIGEST_IO_SHARE);
    if (io >= 10 && io >= mpi)
        return "much time in I/O: Darshan shows which files and which access pattern";
    if (mpi >= 30)
        return "much time in MPI: mpiP shows which calls, a Score-P trace who waits for whom";
    if (average(report, XW_DIGEST_THREADS) < 0.5)
        return "processors mostly idle: perf trace or strace -c shows what the ranks wait for";
    return "mostly computation: perf record shows the hot functions";
}

static void add_page(struct xw_text *text, const struct xw_digest_report *report)
{
    xw_text_add(text, "crosswind: more: ");
    if (!*report->url) {
        xw_text_add(text, "crosswind show, with the spool directory or the profile\n");
        return;
    }
    for (const char *at = report->url; *at; at++) {
        char one[2] = {*at, 0};
        if (at[0] == '%' && at[1] == 'j') {
            xw_digest_clean(text, report->job_id);
            at++;
        } else {
            xw_digest_clean(text, one);
        }
    }
    xw_text_char(text, '\n');
}

static void add_functions(struct xw_text *text, const struct xw_digest_report *report)
{
    static const char heads[4][8] = {"calls", "out", "in", "time"}, units[4][2] = {"", "B", "B", "s"};
    const char *at = xw_table_text;
    char name[48];
    begin_line(text, "function (sum over ranks)");
    for (unsigned word = 0; word < 4; word++)
        xw_digest_pad_left(text, heads[word], NUMBER_WIDTH);
    xw_text_char(text, '\n');
    for (unsigned function = 0; function < XW_N_FUNCTIONS && next_name(&at, "function", name, sizeof name);
         function++) {
        const double *values = &report->sum[XW_DIGEST_FUNCTION(function, 0)];
        if (values[0] == 0)
            continue;
        begin_line(text, name);
        for (unsigned word = 0; word < 4; word++)
            xw_digest_quantity(text, values[word], units[word], NUMBER_WIDTH);
        xw_text_char(text, '\n');
    }
}

size_t xw_digest_format(char *buffer, size_t size, const struct xw_digest_report *report)
{
    struct xw_text writer = xw_text_begin(buffer, size), *text = &writer;
    add_head(text, report);
    begin_line(text, "over ranks");
    xw_digest_pad_left(text, "minimum", NUMBER_WIDTH);
    xw_digest_pad_left(text, "average", NUMBER_WIDTH);
    xw_digest_pad_left(text, "maximum", NUMBER_WIDTH);
    xw_text_char(text, '\n');
    add_row(text, report, "MPI, part of the run time", XW_DIGEST_MPI_SHARE, "%");
    add_row_if(text, report, "collectives", XW_DIGEST_COLL_RATE, "/s");
    add_row_if(text, report, "  bytes", XW_DIGEST_COLL_BYTES, "B");
    add_row_if(text, report, "point to point, calls", XW_DIGEST_P2P_CALLS, "");
    add_row_if(text, report, "  bytes", XW_DIGEST_P2P_BYTES, "B");
    add_row_if(text, report, "I/O, part of the run time", XW_DIGEST_IO_SHARE, "%");
    add_row_if(text, report, "MPI-IO, calls", XW_DIGEST_MPIIO_CALLS, "");
    add_row_if(text, report, "  bytes", XW_DIGEST_MPIIO_BYTES, "B");
    add_classes(text, report);
    add_processor(text, report);
    if (report->full)
        add_functions(text, report);
    add_lost(text, report);
    xw_text_add(text, "crosswind: next: ");
    xw_text_add(text, next_tool(report));
    xw_text_char(text, '\n');
    add_page(text, report);
    return xw_length(buffer);
}
