internal import Foundation

/// Go's net/http in a bare loop, as good a one as is straightforward: `Rivals/go`.
enum GoRival {
    static let tool = Tool(name: "go", package: "golang-go")

    /// Built again for every call of the harness; nil, with a note, where that cannot be.
    static func contender(
        _ options: Options,
        sink: Sink,
        certificates: Certificates,
        in workspace: Workspace,
        notes: inout [String]
    ) throws -> LoopRival? {
        guard let go = tool.path else {
            notes.append("go is missing and left out: apt-get install \(tool.package)")
            return nil
        }
        guard let sources = RivalFolder.sources("go"), let cache = RivalFolder.scratch("go") else {
            notes.append("go is left out: this program is not inside its package, which has the sources")
            return nil
        }
        // Standard library only: nothing is fetched.
        let environment = [
            "GOCACHE": cache, "GOPATH": cache, "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOFLAGS": "", "GOENV": "off",
        ]
        let program = workspace.file("go-loop")
        let build = try Child(
            "go-build",
            go,
            ["build", "-o", program, "\(sources)/main.go"],
            environment: environment,
            in: workspace
        )
        _ = try build.finish(seconds: 300)
        let version = try Child("go-version", go, ["env", "GOVERSION"], environment: environment, in: workspace)
        _ = try version.finish(seconds: 30)
        let text = workspace.read(version.outputFile).trimmingCharacters(in: .whitespacesAndNewlines)
        return LoopRival(
            name: "go",
            summary: "Go's net/http alone (\(text)), \(options.lanes) transports of \(options.streams) streams",
            command: [program],
            sink: sink,
            workspace: workspace,
            limitSeconds: options.limitSeconds
        ) { sends in
            try JSONEncoder().encode(
                FloorJob(
                    url: sink.sendURL,
                    authority: certificates.authority,
                    headers: Payload.headers,
                    body: Payload.body(token: Payload.token(0)),
                    lanes: options.lanes,
                    streams: options.streams,
                    warmUp: options.warmUp,
                    sends: sends,
                    cork: false,
                    limitSeconds: options.limitSeconds
                )
            )
        }
    }
}
