internal import CLinux

/// The memory of this process.
public enum ProcessMemory {
    /// Forbids core files, and debuggers of users other than root.
    ///
    /// - Returns: false when the system refused; the process works without it.
    @discardableResult
    public static func makePrivate() -> Bool { clinux_keep_memory_private() == 0 }

    /// Has the allocator give each freed block of 32 KiB or more back to the system at once. Otherwise glibc raises that
    /// size with the largest block ever freed, and the gaps that growing answers leave in its heap stay resident. Smaller
    /// blocks are too frequent: each would cost two system calls.
    ///
    /// - Returns: false when the allocator refused; the process works without it.
    @discardableResult
    public static func returnLargeBlocks() -> Bool { clinux_return_blocks(32_768) == 0 }
}
