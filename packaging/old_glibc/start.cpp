// SPDX-License-Identifier: Apache-2.0
// Before glibc 2.34 a program called its constructors itself, by the function that it hands to
// __libc_start_main; what today's compiler links to a program hands over none.

extern "C" {

using Main = int (*)(int, char**, char**);
using Constructor = void (*)(int, char**, char**);

extern Constructor __init_array_start[] __attribute__((visibility("hidden")));
extern Constructor __init_array_end[] __attribute__((visibility("hidden")));
void _init();

int old_start(Main main, int argc, char** argv, Constructor construct, void (*destroy)(),
              void (*end_of_loader)(), void* end_of_stack);
#ifdef __x86_64__
__asm__(".symver old_start,__libc_start_main@GLIBC_2.2.5");
#else
__asm__(".symver old_start,__libc_start_main@GLIBC_2.17");
#endif

static void construct(int argc, char** argv, char** environment) {
  _init();
  for (Constructor* one = __init_array_start; one != __init_array_end; ++one)
    (*one)(argc, argv, environment);
}

int __libc_start_main(Main main, int argc, char** argv, Constructor, void (*)(),
                      void (*end_of_loader)(), void* end_of_stack) {
  return old_start(main, argc, argv, &construct, nullptr, end_of_loader, end_of_stack);
}

}  // extern "C"
