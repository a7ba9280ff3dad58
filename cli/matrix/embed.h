/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FP4_EMBED_H
#define FP4_EMBED_H

#include <stddef.h>
#include <stdint.h>

/* cli/matrix/weights/minilm-slice.safetensors.zst as it was when the program was built. */
const uint8_t *embedded_weights(size_t *bytes);

#endif
