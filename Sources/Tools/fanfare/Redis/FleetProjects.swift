internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareRedis

/// The ids of the projects that Redis or the configuration knows, sorted.
enum FleetProjects {
    /// The configured ids for a user that may not read the register, such as a producer's.
    static func read(_ client: RedisClient, _ configuration: Configuration) async throws -> [String] {
        let configured = configuration.projects.map(\.id)
        let prefix = configuration.prefix
        do {
            return try await FanfareOperator.projects(redis: client, prefix: prefix, including: configured)
        } catch let error as RedisError where error.code == .noPerm {
            return configured.sorted()
        }
    }
}
