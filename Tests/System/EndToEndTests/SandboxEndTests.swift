import EventLoop
import Foundation
import TestSupport
import Testing

/// The sandbox ends with exit status 0 whatever its connections and threads do at that moment.
@Suite(.timeLimit(.minutes(10)))
struct SandboxEndTests {
    /// Delays the step in which OpenSSL's clean-up at `exit` has freed what belongs to each thread, and threads that end
    /// do not know it yet: OpenSSL then deletes the key under which each thread finds its part.
    private static let source = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <pthread.h>
        #include <unistd.h>

        int pthread_key_delete(pthread_key_t key) {
            static int (*next)(pthread_key_t);
            if (!next) next = (int (*)(pthread_key_t))dlsym(RTLD_NEXT, "pthread_key_delete");
            if (key == KEY) usleep(300000);
            return next(key);
        }
        """

    // OpenSSL takes the keys in an order that differs between its versions; 2 and 5 crashed with 3.0.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["FANFARE_SANITIZER"] == nil), arguments: 1...7)
    func threadsThatEndBesideTheProcessFreeNothingTwice(key: Int) async throws {
        let library = try PreloadedLibrary(source: Self.source.replacingOccurrences(of: "KEY", with: "\(key)"))
        try await withRig { rig in
            let sandbox = try await rig.startSandbox(environment: ["LD_PRELOAD": library.path])
            let clients = try await Self.connect(rig)
            withExtendedLifetime(clients) { sandbox.signal(SIGTERM) }
            #expect(try await sandbox.wait() == 0, "\(sandbox.stderr)")
        }
    }

    /// The moments are numbers of accepted sends, so that a busy machine only takes longer.
    @Test(arguments: ["v1", "xmpp"], [0, 1, 40, 300, 1_500])
    func isEndedAtAnyMomentUnderLoad(transport: String, sends: Int) async throws {
        try await withRig { rig in
            let sandbox = try await rig.startSandbox()
            let settings = transport == "xmpp" ? try rig.xmppSettings : ""
            try await rig.startWorker(try rig.configuration(transport: transport, project: settings))
            let tokens = (0..<2_000).map { "t\($0)" }
            try await rig.push(["id": "load", "message": #"{"data":{"k":"v"}}"#, "tokens": Rig.tokens(tokens)])
            try await Wait.until("\(sends) sends\n\(rig.logs)", everyMs: 1) { try await rig.stats().sends >= sends }
            sandbox.signal(SIGTERM)
            #expect(try await sandbox.wait() == 0, "\(sandbox.stderr)")
        }
    }

    /// Connections whose handshake is complete, so that each thread of the sandbox has used TLS.
    private static func connect(_ rig: Rig) async throws -> [ChildProcess] {
        let script = """
            import socket, ssl, sys
            context = ssl.create_default_context(cafile=sys.argv[1])
            open = []
            for _ in range(16):
                for port in sys.argv[2:]:
                    plain = socket.create_connection(("127.0.0.1", int(port)))
                    open.append(context.wrap_socket(plain, server_hostname="localhost"))
            print("connected", flush=True)
            for connection in open:
                try:
                    connection.recv(1)
                except OSError:
                    pass
            """
        let client = try ChildProcess(
            ["-c", script, "\(rig.state.path)/ca.pem", "\(rig.tlsPort)", "\(rig.xmppPort)"],
            executable: URL(fileURLWithPath: "/usr/bin/python3")
        )
        try await client.printed("connected")
        return [client]
    }
}
