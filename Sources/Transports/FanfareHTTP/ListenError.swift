internal import Glibc
internal import NIOCore

/// Why a server cannot listen on an address, as a text for users.
public struct ListenError: Error, Equatable, CustomStringConvertible {
    public let description: String

    /// - Parameters:
    ///   - error: the error of the server; an error that does not concern the address gives nil.
    ///   - address: the configured address; a unix socket's contains a slash.
    public init?(_ error: any Error, address: String) {
        switch error {
        case let error as IOError where error.errnoCode == EADDRINUSE:
            description = "\(address) is taken by another program"
        case let error as IOError where error.errnoCode == EADDRNOTAVAIL:
            description = "\(address) is not an address of this machine"
        case let error as IOError where error.errnoCode == EACCES || error.errnoCode == EPERM:
            let isPath = address.contains("/")
            description =
                "\(address) is not permitted for this user" + (isPath ? "" : "; ports below 1024 need privileges")
        case let error as IOError where error.errnoCode == ENOENT:
            description = "\(address) is in a folder that does not exist"
        case is SocketAddressError.UnknownHost:
            description = "\(address) has an unknown host"
        case SocketAddressError.unixDomainSocketPathTooLong:
            description = "\(address) is longer than the 107 bytes of a socket's path"
        default: return nil
        }
    }
}
