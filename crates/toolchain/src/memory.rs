//! Memory that is free, returned to the system.

/// Returns what the allocator holds but nobody uses. Debug information of one build makes many small blocks; glibc
/// keeps them, once per thread, and a process that has looked at ten builds would hold ten builds' worth.
pub fn give_back() {
    // SAFETY: may be called at any time; it touches free blocks only.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}
