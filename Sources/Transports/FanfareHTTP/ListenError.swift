internal import Glibc
internal import NIOCore

/// Why nothing listens on an address, in words for people.
public struct ListenError: Error, Equatable, CustomStringConvertible {
    public let description: String

    /// - Parameters:
    ///   - error: what the server ended with. Of one that says nothing about an address it makes none.
    ///   - address: the one that was asked for; that of a unix socket has a slash.
    public init?(_ error: any Error, address: String) {
        switch error {
        case let error as IOError where error.errnoCode == EADDRINUSE:
            description = "\(address) is taken by another program"
        case let error as IOError where error.errnoCode == EADDRNOTAVAIL:
            description = "\(address) is no address of this machine"
        case let error as IOError where error.errnoCode == EACCES || error.errnoCode == EPERM:
            let isPath = address.contains("/")
            description = "\(address) is not for this user" + (isPath ? "" : "; ports below 1024 are the system's")
        case let error as IOError where error.errnoCode == ENOENT:
            description = "\(address) is in a folder that does not exist"
        case is SocketAddressError.UnknownHost:
            description = "\(address) has a host that nobody knows"
        case SocketAddressError.unixDomainSocketPathTooLong:
            description = "\(address) is longer than the 107 bytes of a socket's path"
        default: return nil
        }
    }
}
