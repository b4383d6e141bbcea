import NIOCore
import NIOPosix

enum FreePort {
    /// A port that was free a moment ago; the caller binds it next. From below the range that the kernel gives to
    /// clients, one of which would often have it by then.
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
