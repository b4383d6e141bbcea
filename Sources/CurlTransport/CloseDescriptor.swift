internal import Glibc

/// Apart from the methods called `close`, which would shadow it.
func closeDescriptor(_ fd: Int32) -> Int32 { Glibc.close(fd) }
