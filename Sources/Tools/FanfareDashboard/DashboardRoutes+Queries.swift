internal import FanfareClient
internal import FanfareHTTP
internal import FanfareJSON

/// The queries of the page, besides the live view.
extension DashboardRoutes {
    /// Finds a job by its id in all projects.
    func search(_ id: String) async throws -> WebReply {
        var found: [JSONValue] = []
        for project in try await projects(nil) {
            guard let progress = try await projectOperator(project).progress(of: id) else { continue }
            found.append(.object(Self.object(progress, project)))
        }
        return .json(["jobs": .array(found)])
    }

    static var noSuchJob: WebReply {
        .error(
            404,
            "no_such_job",
            "There is no such job: it was never pushed, not yet taken by a worker, or is no longer kept."
        )
    }
}
