#include "settings.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static int is_duration(const char *value)
{
    size_t digits = strspn(value, "0123456789");
    const char *unit = value + digits;
    return digits > 0 && digits < 9 && (!*unit || !strcmp(unit, "s") || !strcmp(unit, "ms"));
}

static int is_digest(const char *value)
{
    return !strcmp(value, "off") || !strcmp(value, "short") || !strcmp(value, "full");
}

static int is_switch(const char *value) { return !strcmp(value, "on") || !strcmp(value, "off"); }

/* A blank or a colon would end an entry of LD_PRELOAD. */
static int is_path(const char *value) { return value[0] == '/' && !strpbrk(value, " :\t\n"); }

static int is_text(const char *value)
{
    for (; *value; value++)
        if (!isprint((unsigned char)*value))
            return 0;
    return 1;
}

const struct cw_word cw_words[] = {
    {"lib", "", is_path, 0, 0},
    {"spool", "CROSSWIND_SPOOL", is_path, 0, 0}, /* `crosswind run -- srun ...` sets its own */
    {"slice", "CROSSWIND_SLICE", is_duration, 1, 0},
    {"digest", "CROSSWIND_DIGEST", is_digest, 1, 0},
    {"timing", "CROSSWIND_TIMING", is_switch, 1, 0},
    {"url", "CROSSWIND_URL", is_text, 0, 0},
    {"skip", "CROSSWIND_SKIP_SITE", is_text, 0, 1},
};
const int cw_n_words = sizeof cw_words / sizeof *cw_words;
_Static_assert(sizeof cw_words / sizeof *cw_words <= CW_MAX_WORDS, "values has a place for each word");

static enum cw_switch switch_of(const char *value) { return !strcmp(value, "on") ? CW_ON : CW_OFF; }

static int take_value(struct cw_settings *settings, const char *name, const char *value, enum cw_speaker speaker)
{
    for (int i = 0; i < cw_n_words; i++) {
        const struct cw_word *word = &cw_words[i];
        if (strcmp(name, word->name) || (speaker == CW_USER && !word->users))
            continue;
        if (!*value || strlen(value) >= CW_VALUE_SIZE || !word->good(value))
            return 0;
        strcpy(settings->values[i], value);
        if (speaker == CW_USER && settings->on == CW_NOT_SAID)
            settings->on = CW_ON; /* who asks for slices of one second wants a profile */
        return 1;
    }
    return 0;
}

int cw_settings_take(struct cw_settings *settings, const char *word, enum cw_speaker speaker)
{
    char name[16];
    const char *equals = strchr(word, '=');
    if (!equals) {
        if (speaker == CW_SITE || !is_switch(word))
            return 0;
        settings->on = switch_of(word);
        return 1;
    }
    size_t length = (size_t)(equals - word);
    if (length >= sizeof name)
        return 0;
    memcpy(name, word, length);
    name[length] = 0;
    const char *value = equals + 1;
    int is_default = !strcmp(name, "default"), is_containers = !strcmp(name, "containers");
    if (speaker == CW_SITE && (is_default || is_containers)) {
        if (!is_switch(value))
            return 0;
        *(is_default ? &settings->on : &settings->containers) = switch_of(value);
        return 1;
    }
    return take_value(settings, name, value, speaker);
}

int cw_settings_take_list(struct cw_settings *settings, const char *words, char *bad, unsigned long size)
{
    char list[CW_VALUE_SIZE], *rest;
    int misunderstood = 0;
    snprintf(bad, size, "%s", words);
    if (strlen(words) >= sizeof list)
        return 1;
    strcpy(list, words);
    for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
        if (!cw_settings_take(settings, word, CW_USER) && !misunderstood++)
            snprintf(bad, size, "%s", word);
    return misunderstood;
}

void cw_settings_fill(struct cw_settings *settings, const struct cw_settings *other)
{
    if (settings->on == CW_NOT_SAID)
        settings->on = other->on;
    for (int i = 0; i < cw_n_words; i++)
        if (!settings->values[i][0])
            strcpy(settings->values[i], other->values[i]);
}

const char *cw_settings_value(const struct cw_settings *settings, const char *name)
{
    for (int i = 0; i < cw_n_words; i++)
        if (!strcmp(name, cw_words[i].name))
            return settings->values[i];
    return "";
}

enum cw_switch cw_settings_decide(const struct cw_settings *site, const struct cw_settings *user, const char *disable)
{
    if (user->on != CW_NOT_SAID)
        return user->on;
    if (*disable) /* as libprofiler/config.c reads a flag */
        return !strcmp(disable, "0") || !strcmp(disable, "off") || !strcmp(disable, "no") ? CW_ON : CW_OFF;
    return site->on == CW_OFF ? CW_NOT_SAID : CW_ON;
}
