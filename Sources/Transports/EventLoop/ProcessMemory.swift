internal import CLinux

/// The memory of this process, for processes that hold keys.
public enum ProcessMemory {
    /// Forbids core files, and debuggers of users other than root.
    ///
    /// - Returns: false when the system refused; the process works without it.
    @discardableResult
    public static func makePrivate() -> Bool { clinux_keep_memory_private() == 0 }
}
