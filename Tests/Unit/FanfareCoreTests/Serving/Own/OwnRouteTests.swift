import Testing

@testable import FanfareCore

@Suite struct OwnRouteTests {
    @Test(
        arguments: [
            ("/openapi.json", .document), ("/v1/projects/p/jobs", .jobs(project: "p")),
            ("/v1/projects/p/jobs/a", .job(project: "p", id: "a")),
            ("/v1/projects/p/jobs/a:b", .job(project: "p", id: "a:b")),
            ("/v1/projects/p/jobs/a%3Acancel", .job(project: "p", id: "a:cancel")),
            ("/v1/projects/p/jobs/a:cancel", .control(.cancel, project: "p", id: "a")),
            ("/v1/projects/p/jobs/a%3Ab:pause", .control(.pause, project: "p", id: "a:b")),
            ("/v1/projects/p/jobs/a:resume", .control(.resume, project: "p", id: "a")),
            ("/v1/projects/p/jobs/a/results", .results(project: "p", id: "a")),
            ("/v1/projects/p/feedback", .feedback(project: "p")),
            ("/v1/projects/p/audiences/a", .audience(project: "p", name: "a")),
            ("/v1/projects/p/audiences/a%20b", .audience(project: "p", name: "a b")),
            ("/v1/projects/p%20q/jobs", .jobs(project: "p q")),
        ] as [(String, OwnRoute)]
    )
    func pathLeadsToItsRoute(path: String, route: OwnRoute) { #expect(OwnRoute(path: path) == route) }

    @Test(arguments: [
        "/v1/projects/p/jobs/", "/v1/projects/p/jobs/:cancel", "/v1/projects/p/jobs/a%2Fb", "/v1/projects/p/jobs/%ff",
        "/v1/projects/p/jobs/a/", "/v1/projects/p/jobs/a/result", "/v1/projects/p/jobs/a/results/",
        "/v1/projects/p/feedback/", "/v1/projects/p/jobs/%00", "/v1/projects/p/jobs//results",
        "/v1/projects/p/audiences", "/v1/projects/p/audiences/", "/v1/projects/p/audiences/a/",
        "/v1/projects/p/audiences/a/b", "/v1/projects/p/audiences/%ff",
    ])
    func pathBesideTheRoutesLeadsNowhere(path: String) { #expect(OwnRoute(path: path) == .unknown(project: "p")) }

    @Test(arguments: [
        "/", "", "/v1/projects/p/messages:send", "/v1/projects/p", "/v2/projects/p/jobs", "/v1//p/jobs",
        "x/v1/projects/p/jobs", "/v1/projects/%zz/jobs", "/v1/projects/p/registrations/r/topicSubscriptions",
    ])
    func pathOfAnotherAPIIsNone(path: String) { #expect(OwnRoute(path: path) == nil) }

    @Test func methodsNeedTheirRights() {
        let jobs = OwnRoute.jobs(project: "p")
        #expect(jobs.operation("POST")?.right == .push && jobs.operation("HEAD")?.right == .read)
        #expect(jobs.operation("DELETE") == nil && jobs.allowedMethods == "GET, HEAD, POST")
        #expect(OwnRoute.control(.pause, project: "p", id: "a").operation("POST")?.right == .operate)
        #expect(OwnRoute.feedback(project: "p").operation("POST") == nil)
        #expect(OwnRoute.document.operation("GET")?.right == nil)
        let audience = OwnRoute.audience(project: "p", name: "a")
        #expect(audience.operation("PUT")?.right == .push && audience.allowedMethods == "PUT, DELETE")
    }

    @Test func pathOfAJobLeadsToIt() {
        for id in ["a", "a:cancel", "1700000000000-0", ".x_-"] {
            #expect(OwnRoute(path: OwnRoute.path(ofJob: id, in: "p")) == .job(project: "p", id: id))
        }
    }
}
