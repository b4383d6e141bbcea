internal import CurlTransport
internal import FCMWire
internal import FanfareConfiguration
internal import FanfareModel
internal import HTTPLanes

extension Configuration {
    /// Checks that a metadata server answers, if a project names no credential and relies on one. Blocks for 3 s at most.
    ///
    /// A project that says `credentials: metadata` is not checked: its worker waits for the server instead.
    ///
    /// - Parameters:
    ///   - running: the configuration that is replaced; nil at the start of a worker. If one of its projects relies on the
    ///     same server, the server was confirmed before and is not asked again.
    ///   - probe: asks a server; returns why it is not Google's, nil if it is.
    /// - Throws: a fault for each project without an identity.
    func confirmMetadataServer(
        _ secrets: Secrets,
        replacing running: Configuration? = nil,
        probe: (MetadataServer) -> String? = Configuration.silence
    ) throws(ConfigurationError) {
        if let running, running.metadataHost == metadataHost, running.reliesOnMetadataServer { return }
        var faults: [String] = []
        var answers: [String: String?] = [:]
        for project in projects {
            guard case .metadata(let server)? = secrets.credentials[project.id], server.isAssumed else { continue }
            if answers[server.host] == nil { answers.updateValue(probe(server), forKey: server.host) }
            guard let reason = answers[server.host] ?? nil else { continue }
            faults.append(
                "projects.\(project.id).credentials: none named, GOOGLE_APPLICATION_CREDENTIALS is not set, and no "
                    + "metadata server answers at \(server.host) (\(reason)); name a credential file"
            )
        }
        guard faults.isEmpty else { throw error(faults) }
    }

    private var reliesOnMetadataServer: Bool {
        projects.contains { $0.traits.usesAccessToken && $0.credentials == nil }
    }

    /// Asks a metadata server for its name.
    ///
    /// - Returns: why the server is not Google's; nil if it is.
    static func silence(of server: MetadataServer) -> String? {
        do throws(EndpointProbe.Failure) {
            let report = try EndpointProbe.run(
                url: "http://\(server.host)/",
                headers: [MetadataServer.header],
                configuration: OriginConfiguration().forMetadata,
                timeoutMs: 3_000
            )
            return report.answer.metadataFlavor == "Google" ? nil : "another server answers"
        } catch {
            return "\(error.reason)"
        }
    }
}

extension OriginConfiguration {
    /// The same, for plain HTTP, which no proxy carries.
    var forMetadata: OriginConfiguration {
        var configuration = self
        (configuration.allowsPlainHTTP, configuration.proxy) = (true, nil)
        return configuration
    }
}
