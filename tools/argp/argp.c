/* SPDX-License-Identifier: MIT */
#include "argp.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *argp_program_version;
int argp_err_exit_status = 64;

enum { MOST_CHILDREN = 4, KEY_HELP = '?', KEY_USAGE = -1, KEY_VERSION = 'V', HELP_COLUMN = 29, LAST_COLUMN = 78 };

static const struct argp_option own_options[] = {
    {"help", KEY_HELP, NULL, 0, "Give this help list", 0},
    {"usage", KEY_USAGE, NULL, 0, "Give a short usage message", 0},
    {"version", KEY_VERSION, NULL, 0, "Print program version", 0},
    {0},
};

/* An argp, its children, and the input of each. */
typedef struct parsers {
    const struct argp *list[1 + MOST_CHILDREN];
    void *inputs[1 + MOST_CHILDREN];
    int n;
} parsers;

static parsers parsers_of(const struct argp *root) {
    parsers all = {.list = {root}, .n = 1};
    for (const struct argp_child *c = root->children; c != NULL && c->argp != NULL && all.n <= MOST_CHILDREN; c++)
        all.list[all.n++] = c->argp;
    return all;
}

static int is_end(const struct argp_option *o) {
    return o == NULL || (o->name == NULL && o->key == 0 && o->doc == NULL);
}

/* ---- Help ---- */

/* Words from column `indent` on, where the line has reached `column`; lines of the text stay lines. */
static void print_text(FILE *f, const char *text, int column, int indent) {
    while (*text != '\0') {
        int length = (int)strcspn(text, " \n");
        if (column > indent && column + 1 + length > LAST_COLUMN) {
            fprintf(f, "\n");
            column = 0;
        }
        if (length > 0)
            column += fprintf(f, "%*s%.*s", column < indent ? indent - column : column > indent, "", length, text);
        text += length;
        for (; *text == '\n'; text++, column = 0)
            fprintf(f, "\n");
        for (; *text == ' '; text++)
            if (column == 0 && indent == 0) /* a line that begins with blanks keeps them */
                column += fprintf(f, " ");
    }
    fprintf(f, "\n");
}

static void print_option(FILE *f, const struct argp_option *o) {
    int column = o->key > 0 && o->key < 256 && isprint(o->key) ? fprintf(f, "  -%c, ", o->key) : fprintf(f, "      ");
    column += fprintf(f, "--%s%s%s", o->name, o->arg != NULL ? "=" : "", o->arg != NULL ? o->arg : "");
    if (column >= HELP_COLUMN) {
        fprintf(f, "\n");
        column = 0;
    }
    print_text(f, o->doc != NULL ? o->doc : "", column, HELP_COLUMN);
}

static void print_usage(FILE *f, const char *name, const parsers *all) {
    fprintf(f, "Usage: %s [OPTION...]", name);
    for (int i = 0; i < all->n; i++)
        if (all->list[i]->args_doc != NULL)
            fprintf(f, " %s", all->list[i]->args_doc);
    fprintf(f, "\n");
}

static void print_help(FILE *f, const char *name, const parsers *all) {
    const char *doc = all->list[0]->doc != NULL ? all->list[0]->doc : "", *behind = strchr(doc, '\v');
    print_usage(f, name, all);
    char *before = calloc(strlen(doc) + 1, 1);
    if (before != NULL)
        print_text(f, memcpy(before, doc, behind != NULL ? (size_t)(behind - doc) : strlen(doc)), 0, 0);
    free(before);
    fprintf(f, "\n");
    for (int i = 0; i < all->n; i++)
        for (const struct argp_option *o = all->list[i]->options; !is_end(o); o++)
            print_option(f, o);
    for (const struct argp_option *o = own_options; !is_end(o); o++)
        if (o->key != KEY_VERSION || argp_program_version != NULL)
            print_option(f, o);
    if (behind != NULL) {
        fprintf(f, "\n");
        print_text(f, behind + 1, 0, 0);
    }
    for (int i = 0; i < all->n; i++) {
        char *extra =
            all->list[i]->help_filter != NULL ? all->list[i]->help_filter(ARGP_KEY_HELP_EXTRA, NULL, NULL) : NULL;
        if (extra != NULL)
            fprintf(f, "\n%s", extra);
        free(extra);
    }
}

void argp_state_help(const struct argp_state *state, FILE *f, unsigned flags) {
    (void)flags;
    parsers all = parsers_of(state->root_argp);
    print_help(f, state->name, &all);
    exit(0);
}

void argp_error(const struct argp_state *state, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", state->name);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\nTry `%s --help' or `%s --usage' for more information.\n", state->name, state->name);
    va_end(arguments);
    exit(argp_err_exit_status);
}

/* ---- Parsing ---- */

static error_t tell(const parsers *all, int i, int key, char *argument, struct argp_state *state) {
    state->input = all->inputs[i];
    return all->list[i]->parser == NULL ? ARGP_ERR_UNKNOWN : all->list[i]->parser(key, argument, state);
}

/* The root tells the inputs of its children. */
static void tell_init(parsers *all, struct argp_state *state) {
    for (int i = 0; i < all->n; i++) {
        state->child_inputs = all->inputs + 1;
        (void)tell(all, i, ARGP_KEY_INIT, NULL, state);
    }
}

static void tell_all(const parsers *all, int key, struct argp_state *state) {
    for (int i = all->n - 1; i >= 0; i--)
        (void)tell(all, i, key, NULL, state);
}

/* The option of a name of n characters, or of a short name, and whose it is: -1 for our own. */
static const struct argp_option *find(const parsers *all, const char *name, size_t n, int key, int *owner) {
    for (*owner = all->n - 1; *owner >= -1; --*owner)
        for (const struct argp_option *o = *owner < 0 ? own_options : all->list[*owner]->options; !is_end(o); o++)
            if (name != NULL ? strncmp(o->name, name, n) == 0 && o->name[n] == '\0' : o->key == key)
                return o;
    return NULL;
}

static void run_own(const parsers *all, int key, const struct argp_state *state) {
    if (key == KEY_VERSION)
        printf("%s\n", argp_program_version != NULL ? argp_program_version : "");
    else if (key == KEY_USAGE)
        print_usage(stdout, state->name, all);
    else
        print_help(stdout, state->name, all);
    exit(0);
}

/* One option with its value: behind '=', behind a short name, or the next word. */
static void take(const parsers *all, const struct argp_option *o, int owner, char *value, struct argp_state *state) {
    if (owner < 0)
        run_own(all, o->key, state);
    if (o->arg != NULL && value == NULL) {
        if (state->next == state->argc)
            argp_error(state, "option '--%s' requires an argument", o->name);
        value = state->argv[state->next++];
    } else if (o->arg == NULL && value != NULL) {
        argp_error(state, "option '--%s' doesn't allow an argument", o->name);
    }
    (void)tell(all, owner, o->key, value, state);
}

static void take_long(const parsers *all, char *word, struct argp_state *state) {
    int owner;
    size_t n = strcspn(word, "=");
    const struct argp_option *o = find(all, word, n, 0, &owner);
    if (o == NULL)
        argp_error(state, "unrecognized option '--%s'", word);
    else
        take(all, o, owner, word[n] == '=' ? word + n + 1 : NULL, state);
}

static void take_short(const parsers *all, char *letters, struct argp_state *state) {
    for (char *letter = letters; *letter != '\0'; letter++) {
        int owner;
        const struct argp_option *o = find(all, NULL, 0, *letter, &owner);
        if (o == NULL) {
            argp_error(state, "invalid option -- '%c'", *letter);
            return;
        }
        int has_value = o->arg != NULL && letter[1] != '\0';
        take(all, o, owner, has_value ? letter + 1 : NULL, state);
        if (has_value)
            return;
    }
}

static void take_argument(const parsers *all, char *word, struct argp_state *state) {
    for (int i = 0; i < all->n; i++)
        if (tell(all, i, ARGP_KEY_ARG, word, state) != ARGP_ERR_UNKNOWN)
            return;
    argp_error(state, "Too many arguments");
}

error_t argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags, int *end_index, void *input) {
    (void)flags, (void)end_index;
    const char *slash = strrchr(argv[0], '/');
    parsers all = parsers_of(argp);
    all.inputs[0] = input;
    struct argp_state state = {argc, argv, 1, NULL, NULL, slash != NULL ? slash + 1 : argv[0], argp};
    int n_arguments = 0, are_options_over = 0;
    tell_init(&all, &state);
    while (state.next < state.argc) {
        char *word = state.argv[state.next++];
        if (!are_options_over && strcmp(word, "--") == 0) {
            are_options_over = 1;
        } else if (!are_options_over && word[0] == '-' && word[1] == '-') {
            take_long(&all, word + 2, &state);
        } else if (!are_options_over && word[0] == '-' && word[1] != '\0') {
            take_short(&all, word + 1, &state);
        } else {
            n_arguments++;
            take_argument(&all, word, &state);
        }
    }
    if (n_arguments == 0)
        tell_all(&all, ARGP_KEY_NO_ARGS, &state);
    tell_all(&all, ARGP_KEY_END, &state);
    tell_all(&all, ARGP_KEY_SUCCESS, &state);
    return 0;
}
