/* SPDX-License-Identifier: MIT */
/* llama.cpp's probe for flash attention, by which `-fa auto` decides. When a context begins, before any other graph,
 * llama.cpp assigns the nodes of a graph of one token a sequence, and leaves flash attention off if a layer's node has
 * another device than the layer. An accelerator has no layers: they are the CPU's. So the probe's nodes are left to
 * the CPU, whose memory the plugin works on, and flash attention stays on. Thread-safe. */
#ifndef POSENC_GGML_PROBE_H
#define POSENC_GGML_PROBE_H

#include <ggml.h>

#include <stdbool.h>

/* Expects a probe: a backend was opened, as for a new context. */
void probe_expect(void);

/* Expects no probe any more: a graph is computed. */
void probe_end(void);

/* 1 if ggml's question about a node of FLASH_ATTN_EXT may be part of a probe. */
bool probe_asks(const struct ggml_tensor *node);

#endif
