// SPDX-License-Identifier: Apache-2.0
// What glibc 2.35 brought, and libgcc asks for an exception's way out: the tables of the code at an
// address.
#include <dlfcn.h>
#include <link.h>

namespace {

struct Search {
  ElfW(Addr) address;
  dl_find_object* found;
};

int look_at(dl_phdr_info* object, size_t, void* data) {
  const Search& search = *static_cast<Search*>(data);
  const ElfW(Phdr)* tables = nullptr;
  ElfW(Addr) begin = ~ElfW(Addr){0}, end = 0;
  bool inside = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    if (part.p_type == PT_GNU_EH_FRAME) tables = &part;
    if (part.p_type != PT_LOAD) continue;
    const ElfW(Addr) from = object->dlpi_addr + part.p_vaddr, to = from + part.p_memsz;
    inside = inside || (search.address >= from && search.address < to);
    if (from < begin) begin = from;
    if (to > end) end = to;
  }
  if (!inside) return 0;
  if (tables == nullptr) return -1;
  search.found->dlfo_flags = 0;
  search.found->dlfo_map_start = reinterpret_cast<void*>(begin);
  search.found->dlfo_map_end = reinterpret_cast<void*>(end);
  search.found->dlfo_link_map = nullptr;
  search.found->dlfo_eh_frame = reinterpret_cast<void*>(object->dlpi_addr + tables->p_vaddr);
  return 1;
}

}  // namespace

extern "C" int _dl_find_object(void* address, dl_find_object* found) noexcept {
  Search search{reinterpret_cast<ElfW(Addr)>(address), found};
  return dl_iterate_phdr(&look_at, &search) == 1 ? 0 : -1;
}
