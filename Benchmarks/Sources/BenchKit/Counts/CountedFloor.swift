internal import Foundation

/// The counts of libcurl alone, for the same sends: what is left of the worker's is Fanfare's own.
struct CountedFloor {
    let library: String
    var warmUp = 5_000
    var sends = 20_000
    var limitSeconds = 120.0

    /// A floor does not stop between its warm-up and its sends, so two runs are compared: with and without the sends.
    func counts(sink: Sink, in workspace: Workspace) throws -> CallCounts {
        let less = try run(sends: 1, sink: sink, in: workspace)
        return try run(sends: 1 + sends, sink: sink, in: workspace).since(less)
    }

    private func run(sends: Int, sink: Sink, in workspace: Workspace) throws -> CallCounts {
        let job = FloorJob(
            url: sink.sendURL,
            authority: sink.target.authority,
            headers: Payload.headers,
            body: Payload.body(token: Payload.token(0)),
            lanes: 10,
            streams: 100,
            warmUp: warmUp,
            sends: sends,
            cork: true,
            limitSeconds: limitSeconds
        )
        let text = String(decoding: try JSONEncoder().encode(job), as: UTF8.self)
        let file = try workspace.write(text, to: "floor.json")
        let counts = workspace.file("floor-counts")
        let environment = CurlLibrary.environment.merging(CallCounts.environment(library: library, file: counts)) { $1 }
        let floor = try Child(
            "floor",
            "/proc/self/exe",
            [FloorLoop.command, file],
            environment: environment,
            in: workspace
        )
        try floor.finish(seconds: limitSeconds + 5)
        return try CallCounts(records: FileManager.default.contents(atPath: counts) ?? Data())
    }
}
