// Preloaded, makes every download of a buffer wrong in one element of 4 bytes.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

int32_t commsched_download(void *host, const void *buffer, int64_t bytes) {
  int32_t (*download)(void *, const void *, int64_t) =
      (int32_t(*)(void *, const void *, int64_t))dlsym(RTLD_NEXT,
                                                       "commsched_download");
  int32_t result = download(host, buffer, bytes);
  ((char *)host)[bytes - 1] ^= 1;
  return result;
}
