internal import FanfareConfiguration
internal import FanfareDashboard

/// The dashboard beside a demo: nice to have, and no reason to fail.
enum DemoDashboard {
    /// Until the task is cancelled.
    static func serve(_ configuration: Configuration) async {
        do {
            let settings = DashboardOptions(port: 0, projects: configuration.projects.map(\.id))
            let dashboard = try DashboardCommand.dashboard(settings, configuration)
            try await dashboard.run { Console.error("dashboard: http://127.0.0.1:\($0)") }
        } catch {
            if Task.isCancelled { return }
            Console.error("fanfare: no dashboard: \(error)")
        }
    }
}
