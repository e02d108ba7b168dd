/* SPDX-License-Identifier: MIT */
/* posenc plot: any encoding or bias as a picture. */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "number.h"
#include "output.h"
#include "plot_views.h"

typedef struct plot_options {
    method_arguments arguments;
    plot_request request;
    double scale;
    int has_head; /* --head is given */
} plot_options;

static const struct argp_option argp_options[] = {
    {"similarity", 'm', NULL, 0, "Cosine similarity of every position with every other", 3},
    {"curves", 'c', NULL, 0, "Some channels over the positions; of a bias, heads over key - query", 3},
    {"spectrum", 's', NULL, 0, "How strongly each channel swings, by wavelength", 3},
    {"lines", 'l', "N[,N...]", 0,
     "Which channels or heads --curves draws, at most 8; of rope the cosines count first, then the sines", 3},
    {"head", 'H', "N", 0, "Which head of a bias is drawn; 0 unless given", 3},
    {"scale", 'S', "X", 0, "Size of the picture, 0.5 to 8; 1.5 unless given", 3},
    {0},
};

static void set_view(plot_options *o, plot_view view, struct argp_state *state) {
    if (o->request.view != VIEW_MAP && o->request.view != view)
        argp_error(state, "one of --similarity, --curves and --spectrum at a time");
    o->request.view = view;
}

static int64_t read_index(const char *text, const char *option, struct argp_state *state) {
    int64_t n = 0;
    if (!read_whole(text, 0, INT64_MAX, &n))
        argp_error(state, "--%s takes whole numbers from 0, not '%s'", option, text);
    return n;
}

static void read_lines(plot_options *o, char *list, struct argp_state *state) {
    o->request.n_lines = 0;
    for (char *text = strsep(&list, ","); text != NULL; text = strsep(&list, ",")) {
        if (o->request.n_lines == PLOT_LINES)
            argp_error(state, "--lines takes at most %d numbers", PLOT_LINES);
        o->request.lines[o->request.n_lines++] = read_index(text, "lines", state);
    }
}

static void check(const plot_options *o, struct argp_state *state) {
    const method *m = o->arguments.table.method;
    if (o->request.n_lines > 0 && o->request.view != VIEW_CURVES)
        argp_error(state, "--lines goes with --curves");
    if (o->has_head && o->request.view == VIEW_CURVES)
        argp_error(state, "--head does nothing with --curves: use --lines, which names the heads to draw");
    if (o->has_head && m != NULL && m->kind != METHOD_BIAS)
        argp_error(state, "--head is for biases, and %s has no heads: leave it away", m->name);
}

static error_t parse_option(int key, char *argument, struct argp_state *state) {
    plot_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->arguments; return 0;
    case 'm': set_view(o, VIEW_SIMILARITY, state); return 0;
    case 'c': set_view(o, VIEW_CURVES, state); return 0;
    case 's': set_view(o, VIEW_SPECTRUM, state); return 0;
    case 'l': read_lines(o, argument, state); return 0;
    case 'H':
        o->request.head = read_index(argument, "head", state);
        o->has_head = 1;
        return 0;
    case 'S':
        if (!read_real(argument, 0.5, 8.0, &o->scale))
            argp_error(state, "--scale takes a number from 0.5 to 8, not '%s'", argument);
        return 0;
    case ARGP_KEY_SUCCESS: check(o, state); return 0; /* METHOD is known */
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* The picture of an open table. */
static int draw(const plot_options *o) {
    const method_arguments *a = &o->arguments;
    plot_made made = {.figure.scale = o->scale};
    const char *wrong = plot_make(&a->table, &o->request, &made), *subject = a->table.method->name;
    if (wrong == NULL) {
        output file;
        wrong = output_open(&file, a->path);
        if (wrong == NULL)
            wrong = output_close(&file, plot_write_png(&made.figure, file.file));
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
               "PNG file; with one of the options below, something else of it.\v"
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
    const char *wrong = table_check(t);
    if (wrong == NULL)
        wrong = table_open(t);
    if (wrong != NULL) {
        fprintf(stderr, "posenc plot: %s: %s\n", t->method->name, wrong);
        return EXIT_USAGE;
    }
    int result = draw(&o);
    table_close(t);
    return result;
}
