import NIOCore
import NIOPosix

enum FreePort {
    /// A port that was free a moment ago; the caller binds it next.
    static func find(host: String) throws -> Int {
        let group = MultiThreadedEventLoopGroup.singleton
        let channel = try ServerBootstrap(group: group).bind(host: host, port: 0).wait()
        defer { try? channel.close().wait() }
        guard let port = channel.localAddress?.port else { throw SandboxError("no free port on \(host)") }
        return port
    }
}
