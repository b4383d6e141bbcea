internal import FanfareConfiguration
internal import FanfareDashboard

/// The dashboard of a demo. The demo goes on without it if it cannot start.
enum DemoDashboard {
    /// Serves until the task is cancelled.
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
