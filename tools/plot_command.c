/* posenc plot: any encoding or bias as a picture. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "plot_views.h"

typedef struct plot_options {
    method_arguments arguments;
    plot_request request;
    double scale;
} plot_options;

static const struct argp_option argp_options[] = {
    {"similarity", 'm', NULL, 0, "Cosine similarity of every position with every other", 3},
    {"curves", 'c', NULL, 0, "Some channels over the positions; of a bias, heads over key - query", 3},
    {"spectrum", 's', NULL, 0, "How strongly each channel swings, by wavelength", 3},
    {"lines", 'l', "N[,N...]", 0, "Which channels or heads --curves draws, at most 8", 3},
    {"head", 'H', "N", 0, "Which head of a bias is drawn; 0 unless given", 3},
    {"scale", 'S', "X", 0, "Size of the picture, 0.5 to 8; 1.5 unless given", 3},
    {0},
};

static void set_view(plot_options *o, plot_view view, struct argp_state *state) {
    if (o->request.view != VIEW_MAP && o->request.view != view)
        argp_error(state, "one of --similarity, --curves and --spectrum at a time");
    o->request.view = view;
}

static int64_t read_index(const char *text, char **end, const char *option, struct argp_state *state) {
    long long n = strtoll(text, end, 10);
    if (*end == text || n < 0 || (**end != '\0' && **end != ','))
        argp_error(state, "--%s takes numbers from 0, not '%s'", option, text);
    return n;
}

static void read_lines(plot_options *o, char *list, struct argp_state *state) {
    o->request.n_lines = 0;
    for (char *text = list;; text++) {
        if (o->request.n_lines == PLOT_LINES)
            argp_error(state, "--lines takes at most %d numbers", PLOT_LINES);
        o->request.lines[o->request.n_lines++] = read_index(text, &text, "lines", state);
        if (*text == '\0')
            return;
    }
}

static error_t parse_option(int key, char *argument, struct argp_state *state) {
    plot_options *o = state->input;
    char *end;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->arguments; return 0;
    case 'm': set_view(o, VIEW_SIMILARITY, state); return 0;
    case 'c': set_view(o, VIEW_CURVES, state); return 0;
    case 's': set_view(o, VIEW_SPECTRUM, state); return 0;
    case 'l': read_lines(o, argument, state); return 0;
    case 'H':
        o->request.head = read_index(argument, &end, "head", state);
        if (*end != '\0')
            argp_error(state, "--head takes one number, not '%s'", argument);
        return 0;
    case 'S':
        o->scale = strtod(argument, &end);
        if (end == argument || *end != '\0' || !(o->scale >= 0.5 && o->scale <= 8.0))
            argp_error(state, "--scale takes a number from 0.5 to 8, not '%s'", argument);
        return 0;
    case ARGP_KEY_END:
        if (o->request.n_lines > 0 && o->request.view != VIEW_CURVES)
            argp_error(state, "--lines goes with --curves");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* The picture of an open table. */
static int draw(const plot_options *o) {
    const method_arguments *a = &o->arguments;
    plot_made made = {.figure.scale = o->scale};
    const char *wrong = plot_make(&a->table, &o->request, &made), *subject = a->table.method->name;
    if (wrong == NULL) {
        wrong = plot_write_png(&made.figure, a->path);
        subject = a->path;
    }
    if (wrong != NULL)
        fprintf(stderr, "posenc plot: %s: %s\n", subject, wrong);
    plot_free(&made);
    return wrong == NULL ? 0 : EXIT_USAGE;
}

int command_plot(int argc, char **argv) {
    const struct argp_child children[] = {{method_argp(), 0, NULL, 0}, {0}};
    const struct argp argp = {
        .options = argp_options,
        .parser = parse_option,
        .doc = "Draws an encoding as a heat map, or one head's bias beside the attention weights that it gives, into a "
               "PNG "
               "file; with one of the options below, something else of it.\v"
               "Example: posenc plot sinusoidal --length 512 --similarity -o similarity.png",
        .children = children,
    };
    plot_options o = {.arguments.file_type = ".png", .scale = 1.5};
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    table *t = &o.arguments.table;
    if (plot_absence() != NULL) {
        fprintf(stderr, "posenc plot: %s\n", plot_absence());
        return EXIT_USAGE;
    }
    posenc_status status = table_open(t);
    if (status != POSENC_OK) {
        fprintf(stderr, "posenc plot: %s: %s\n", t->method->name, posenc_status_string(status));
        return EXIT_USAGE;
    }
    int result = draw(&o);
    table_close(t);
    return result;
}
