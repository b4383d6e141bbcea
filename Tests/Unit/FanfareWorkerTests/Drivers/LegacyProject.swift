import FanfareConfiguration
import FanfareModel

@testable import FanfareWorker

extension WorkerConfiguration.Project {
    /// A project that sends by a legacy server key, to an endpoint where nothing listens.
    static func legacy(_ id: String, key: String = "key-1") -> Self {
        var project = Self(settings: .init(id: id), serverKey: key)
        project.settings.transport = .legacy
        project.settings.endpoint = "https://localhost:1"
        return project
    }
}
