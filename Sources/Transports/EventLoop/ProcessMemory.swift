internal import CLinux

/// The memory of this process, for processes that hold keys.
public enum ProcessMemory {
    /// From here on there is no core file, and nobody but root may look in with a debugger.
    ///
    /// - Returns: false when the system refused; the process works all the same.
    @discardableResult
    public static func keepPrivate() -> Bool { clinux_keep_memory_private() == 0 }
}
