internal import COpenSSL

/// Overwrites `bytes` with zeros in a way that no optimiser drops, then empties it.
///
/// Only this buffer is cleaned: hold key material in one array, without copies, from the read to this call.
public func cleanse(_ bytes: inout [UInt8]) {
    bytes.withUnsafeMutableBytes { buffer in
        if let start = buffer.baseAddress { OPENSSL_cleanse(start, buffer.count) }
    }
    bytes = []
}
