internal import COpenSSL

/// Reading and writing of PEM texts in memory.
enum MemoryBIO {
    /// The bytes that `write` puts into a memory BIO; nil if it returns anything but 1.
    static func text(_ write: (OpaquePointer) -> Int32) -> String? {
        guard let bio = BIO_new(BIO_s_mem()) else { return nil }
        defer { BIO_free(bio) }
        guard write(bio) == 1 else { return nil }
        let pending = BIO_ctrl_pending(bio)
        let bytes = [UInt8](unsafeUninitializedCapacity: pending) { buffer, count in
            var taken = 0
            if BIO_read_ex(bio, buffer.baseAddress, pending, &taken) == 1 { count = taken }
        }
        return bytes.count == pending ? String(decoding: bytes, as: UTF8.self) : nil
    }

    /// Calls `read` with a read-only BIO over `bytes`, which are not copied; nil if there is no memory.
    static func read<Value>(_ bytes: [UInt8], _ read: (OpaquePointer) -> Value?) -> Value? {
        bytes.withUnsafeBytes { buffer in
            guard let count = Int32(exactly: buffer.count), let bio = BIO_new_mem_buf(buffer.baseAddress, count) else {
                return nil
            }
            defer { BIO_free(bio) }
            return read(bio)
        }
    }
}
