import Testing

@testable import FanfareCore

@Suite struct AcceptedTypesTests {
    @Test(
        arguments: [
            (nil, "application/json"), ("", "application/json"), ("*/*", "application/json"),
            ("application/x-ndjson", "application/x-ndjson"),
            ("application/json;q=0.5, application/x-ndjson", "application/x-ndjson"),
            ("Application/X-NDJSON; q=0.9, */*; q=0.1", "application/x-ndjson"),
            ("application/*, application/json;q=0", "application/x-ndjson"),
            ("text/html, application/*;q=0.1", "application/json"), ("text/html", nil), ("*/*;q=0", nil),
            ("nonsense", "application/json"),
        ] as [(String?, String?)]
    )
    func typeIsTheOneThatTheClientLikesMost(header: String?, type: String?) {
        let types = ["application/json", "application/x-ndjson"]
        #expect(AcceptedTypes(header).preferred(of: types) == type)
    }
}
