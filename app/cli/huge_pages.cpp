/// Memory of the program in huge pages: files, and what decoders unpack, are often new memory of many megabytes, which
/// takes the kernel a third of the time of measuring it if it comes in pages of 4 KiB.
#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace {

constexpr std::size_t huge_page = std::size_t{1} << 21, least = 2 * huge_page;

void* allocate(std::size_t bytes) {
    if (bytes < least) return std::malloc(bytes > 0 ? bytes : 1);
    void* const memory = std::aligned_alloc(huge_page, bytes);
    // The pages at the end stay small, so that no memory is taken but what was asked for.
    if (memory) madvise(memory, bytes / huge_page * huge_page, MADV_HUGEPAGE);
    return memory;
}

}  // namespace

/// Replaces that of the standard library, whose other forms call it and whose operator delete calls free().
void* operator new(std::size_t bytes) {
    for (;;) {
        if (void* const memory = allocate(bytes)) return memory;
        const std::new_handler handler = std::get_new_handler();
        if (!handler) throw std::bad_alloc();
        handler();
    }
}
