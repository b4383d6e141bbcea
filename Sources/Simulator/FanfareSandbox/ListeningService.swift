import FanfareHTTP
import ServiceLifecycle

/// One of the sandbox's servers. If it cannot listen, its error names the address and the option that changes it.
struct ListeningService: Service {
    let server: any Service
    let address: String
    let option: String

    func run() async throws {
        do {
            try await server.run()
        } catch {
            guard let reason = ListenError(error, address: address) else { throw error }
            throw SandboxError("\(reason); choose another with \(option)", isUnavailable: true)
        }
    }
}
