#include "options.h"

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPTIONS = 24, FIRST_OWN = 1000 };
enum common { SECONDS = 256, ACTIVE, SILENT, INTENSITY, MEET, VOLUME, SEED, DIRECTORY, HELP };

static const struct {
    const char *name, *help;
    int has_argument, number;
} common[] = {
    {"seconds", "how long, 0.1 to 86400 (default 30)", 1, SECONDS},
    {"active", "seconds of work in each period (default: all the time)", 1, ACTIVE},
    {"silent", "seconds of rest in each period; periods begin at multiples of their length in UTC", 1, SILENT},
    {"intensity", "share of the active time that is worked, above 0 to 1 (default 1)", 1, INTENSITY},
    {"meet", "works (chunks, messages) after which the ranks meet in a collective; 0: never (default)", 1, MEET},
    {"volume", "amount after which a rank ends, such as 4G; 0: no bound", 1, VOLUME},
    {"seed", "of all random choices (default 1)", 1, SEED},
    {"dir", "directory for files; they are removed at the end (default: the current one)", 1, DIRECTORY},
    {"help", "this text", 0, HELP},
};
enum { N_COMMON = sizeof common / sizeof *common };

static int option_count(const struct load_program *program)
{
    int n = 0;
    while (program->options && program->options[n].name)
        n++;
    return n;
}

static void print_help(const struct load_program *program)
{
    printf("%s: %s\n\nUsage: %s [OPTION]...\n\n", program->name, program->stresses, program->name);
    for (int i = 0; i < option_count(program); i++) {
        const struct load_option *own = &program->options[i];
        printf("  --%-10s %s", own->name, own->help);
        for (int w = 0; own->kind == LOAD_WORD && own->words[w]; w++)
            printf("%s%s%s", w ? ", " : " (", own->words[w], own->words[w + 1] ? "" : ")");
        putchar('\n');
    }
    for (int i = 0; i < N_COMMON; i++)
        if (program->has_files || common[i].number != DIRECTORY)
            printf("  --%-10s %s\n", common[i].name, common[i].help);
    if (program->volume)
        printf("\nA rank ends after %" PRIu64 " %s unless --volume says otherwise.", program->volume, program->unit);
    printf("\nPrints one JSON document at the end: when it was active, and how much it did in each second.\n"
           "\nExample: %s\n",
           program->example);
}

static int parse_number(const char *text, double least, double most, double *value)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end || isnan(number) || number < least || number > most)
        return 0;
    *value = number;
    return 1;
}

static int parse_size(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
    static const char units[] = "kMGT";
    char *end;
    double number = strtod(text, &end);
    if (end == text || isnan(number) || number < 0)
        return 0;
    if (*end) {
        const char *unit = strchr(units, *end);
        if (!unit || end[1])
            return 0;
        number *= ldexp(1.0, 10 * (int)(unit - units + 1));
    }
    if (number < (double)least || number > (double)most || (number > 0 && number < 1)) /* 0 may be no bound */
        return 0;
    *value = (uint64_t)number;
    return 1;
}

static int parse_word(const char *text, const char *const *words, uint64_t *value)
{
    for (uint64_t i = 0; words[i]; i++)
        if (!strcmp(text, words[i])) {
            *value = i;
            return 1;
        }
    return 0;
}

static int take_own(const struct load_option *own, const char *text)
{
    if (own->kind == LOAD_FLAG)
        *own->value = 1;
    return own->kind == LOAD_FLAG || (own->kind == LOAD_WORD ? parse_word(text, own->words, own->value)
                                                             : parse_size(text, own->least, own->most, own->value));
}

static int take_common(int number, const char *text, struct load_options *options)
{
    double seed;
    switch (number) {
    case SECONDS:
        return parse_number(text, 0.1, 86400, &options->seconds);
    case ACTIVE:
        return parse_number(text, 0.01, 86400, &options->active);
    case SILENT:
        return parse_number(text, 0.01, 86400, &options->silent);
    case INTENSITY:
        return parse_number(text, 0.001, 1, &options->intensity);
    case MEET:
        return parse_size(text, 0, UINT32_MAX, &options->meet);
    case VOLUME:
        return parse_size(text, 0, UINT64_C(1) << 50, &options->volume);
    case SEED:
        if (!parse_number(text, 0, 9007199254740992.0, &seed))
            return 0;
        options->seed = (uint64_t)seed;
        return 1;
    default:
        options->directory = text;
        return *text != 0;
    }
}

static enum load_parsed misused(const struct load_program *program, int speaks, const char *what, const char *value)
{
    if (speaks)
        fprintf(stderr, "%s: %s%s%s: --help lists the options\n", program->name, what, *value ? " " : "", value);
    return LOAD_MISUSED;
}

enum load_parsed load_parse(int argc, char **argv, const struct load_program *program, struct load_options *options,
                            int speaks)
{
    struct option known[MAX_OPTIONS] = {0};
    const int n_own = option_count(program);
    for (int i = 0; i < N_COMMON; i++)
        known[i] = (struct option){common[i].name, common[i].has_argument, NULL, common[i].number};
    for (int i = 0; i < n_own; i++)
        known[N_COMMON + i] =
            (struct option){program->options[i].name, program->options[i].kind != LOAD_FLAG, NULL, FIRST_OWN + i};
    *options =
        (struct load_options){.seconds = 30, .intensity = 1, .volume = program->volume, .seed = 1, .directory = "."};
    int number, index;
    opterr = 0;
    while ((number = getopt_long(argc, argv, "", known, &index)) != -1) {
        if (number == '?')
            return misused(program, speaks, "no such option, or it lacks its value:", argv[optind - 1]);
        if (number == HELP) {
            if (speaks)
                print_help(program);
            return LOAD_HELPED;
        }
        if (number == DIRECTORY && !program->has_files)
            return misused(program, speaks, "makes no files and has no option", known[index].name);
        if (!(number >= FIRST_OWN ? take_own(&program->options[number - FIRST_OWN], optarg)
                                  : take_common(number, optarg, options)))
            return misused(program, speaks, known[index].name, optarg);
    }
    if (optind < argc)
        return misused(program, speaks, "takes no arguments, but was given", argv[optind]);
    if ((options->active > 0) != (options->silent > 0))
        return misused(program, speaks, "--active and --silent go together", "");
    const char *wrong = program->check ? program->check() : NULL;
    return wrong ? misused(program, speaks, wrong, "") : LOAD_GO;
}
