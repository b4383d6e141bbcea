internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareRedis

/// Refuses a push to a project that neither the configuration nor a worker knows: its jobs would wait for ever.
///
/// A Redis that no worker has used yet refuses no project if the configuration names none: nothing shows which ones exist.
struct KnownProject {
    let session: ProjectSession
    /// The ids of the configuration's projects.
    let configured: [String]

    func require() async throws {
        guard session.settings == nil else { return }
        do {
            if try await session.projectOperator.wasServed() { return }
            let served = try await FanfareOperator.servedProjects(redis: session.client, prefix: session.prefix)
            guard let fault = Self.fault(session.project, known: Set(configured + served).sorted()) else { return }
            throw Outcome.usage.because(fault)
        } catch let error as RedisError where error.code == .noPerm {
            // A producer's user may not ask.
            warn()
        }
    }

    /// Warns about a project that the configuration does not have.
    func warn() {
        guard session.settings == nil, !configured.isEmpty else { return }
        let known = configured.joined(separator: ", ")
        ConfigurationOptions.warn([
            "the configuration has no project \(session.project), only \(known): unless other workers serve it, its jobs wait"
        ])
    }

    /// Nil if no project is known.
    static func fault(_ project: String, known: [String]) -> String? {
        guard !known.isEmpty else { return nil }
        let hint =
            NearestKey.find(project, among: known).map { "did you mean \($0)?" }
            ?? "known projects: \(known.prefix(10).joined(separator: ", "))\(known.count > 10 ? ", …" : "")."
        return "neither the configuration nor a worker knows project \(project); \(hint) "
            + "Nothing was pushed; --force pushes it anyway"
    }
}
