/*
 * What the site (plugstack.conf) and the user (--crosswind=...) say, as one table of words. Pure: no Slurm in here.
 *
 *   plugstack.conf   optional spank_crosswind.so lib=/usr/lib/crosswind/libcrosswind.so default=on
 * slice=4s command line     --crosswind=on | off | slice=500ms,digest=full,timing=off
 */
#ifndef CW_SETTINGS_H
#define CW_SETTINGS_H

enum { CW_VALUE_SIZE = 1024, CW_MAX_WORDS = 8 };
enum cw_switch { CW_NOT_SAID, CW_OFF, CW_ON };
enum cw_speaker { CW_SITE, CW_USER };

struct cw_word {
    const char *name;
    const char *variable;           /* of the library, "" for what only the plugin uses */
    int (*good)(const char *value); /* whether the library will understand the value */
    int users;                      /* a user may say it, too */
    int sites_wins;                 /* the site's value replaces what is in the user's environment */
};
extern const struct cw_word cw_words[];
extern const int cw_n_words;

struct cw_settings {
    enum cw_switch on;
    enum cw_switch containers;                /* the library is in the containers of --container, too */
    char values[CW_MAX_WORDS][CW_VALUE_SIZE]; /* by the rows of cw_words; empty: not said */
};

/* Take in one word, such as "off" or "slice=4s". Returns 0, and changes nothing, when it is not understood. */
int cw_settings_take(struct cw_settings *settings, const char *word, enum cw_speaker speaker);

/* Take in words separated by commas. Returns how many were not understood; `bad` receives the first of them. */
int cw_settings_take_list(struct cw_settings *settings, const char *words, char *bad, unsigned long size);

/* Take over from `other` what was not said. */
void cw_settings_fill(struct cw_settings *settings, const struct cw_settings *other);

/* The value of a word; "" when it was not said. */
const char *cw_settings_value(const struct cw_settings *settings, const char *name);

/*
 * Whether a task is profiled. disable: CROSSWIND_DISABLE of its environment, "" for none; the option says more than
 * the variable, the variable more than the site's default. CW_NOT_SAID: off only because the site says so.
 */
enum cw_switch cw_settings_decide(const struct cw_settings *site, const struct cw_settings *user, const char *disable);

#endif
