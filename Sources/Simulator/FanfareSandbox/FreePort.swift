import NIOCore
import NIOPosix

enum FreePort {
    /// Returns a port that was free a moment ago, for the caller to bind next. It is below the range that the kernel
    /// assigns to clients, because a client would often use it by then.
    static func find(host: String, but taken: Int? = nil) throws -> Int {
        let group = MultiThreadedEventLoopGroup.singleton
        for _ in 0..<100 {
            let port = Int.random(in: 15_000..<32_000)
            guard port != taken, let channel = try? ServerBootstrap(group: group).bind(host: host, port: port).wait()
            else { continue }
            try? channel.close().wait()
            return port
        }
        throw SandboxError("no free port on \(host)")
    }
}
