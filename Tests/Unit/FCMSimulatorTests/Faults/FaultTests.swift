import FCMSimulator
import FanfareJSON
import Testing

@Suite struct FaultTests {
    @Test func `a fault replaces the answer for its number of times`() throws {
        var trial = Trial()
        let posted = trial.control(
            "POST",
            "/faults",
            #"{"match":{"path":"/v1/"},"action":{"status":503,"retry_after":"5","body":"busy"},"times":2}"#
        )
        let id = try #require(try posted.json()["id"]?.string)
        let replies = (0..<3).map { _ in trial.send("t") }
        #expect(replies.map(\.status) == [503, 503, 200])
        #expect(replies[0].text == "busy")
        #expect(replies[0].header("retry-after") == "5")
        #expect(try trial.statistic("accepted") == 1)
        let listed = try #require(try JSONParser.parse(trial.control("GET", "/faults").body).array?.first?.object)
        #expect(listed["id"]?.string == id)
        #expect(listed["hits"] == 2)
        #expect(listed["times_left"] == 0)
        #expect(trial.control("DELETE", "/faults?id=" + id).status == 200)
        #expect(trial.control("DELETE", "/faults?id=" + id).status == 404)
    }

    @Test func `a fault matches by path and token prefix`() {
        var trial = Trial()
        trial.control("POST", "/faults", #"{"match":{"path":"/fcm/","token_prefix":"bad"},"action":{"html":502}}"#)
        #expect(trial.send("bad-1").status == 200)
        #expect(trial.legacy(#"{"to":"good"}"#).status == 200)
        let hit = trial.legacy(#"{"registration_ids":["good","bad-1"]}"#)
        #expect(hit.status == 502)
        #expect(hit.header("content-type")?.hasPrefix("text/html") == true)
    }

    @Test func `a fault's fraction is drawn from the seed`() {
        func hits(seed: UInt64) -> [Bool] {
            var trial = Trial(seed: seed)
            trial.control("POST", "/faults", #"{"match":{"fraction":0.1},"action":{"status":500}}"#)
            return (0..<2_000).map { trial.send("t\($0)").status == 500 }
        }
        let first = hits(seed: 1)
        #expect(first == hits(seed: 1))
        #expect(first != hits(seed: 2))
        #expect((150...250).contains(first.count { $0 }))
    }

    struct Row: Sendable {
        var action: String
        var wire: WireFault?
        var isDelivered: Bool
    }

    static let rows = [
        Row(action: #"{"reset":"CANCEL"}"#, wire: .reset(code: 8), isDelivered: false),
        Row(action: #"{"refuse_stream":true}"#, wire: .refuseStream, isDelivered: false),
        Row(action: #"{"goaway":"NO_ERROR"}"#, wire: .goAway(code: 0), isDelivered: false),
        Row(action: #"{"close":true}"#, wire: .close, isDelivered: false),
        Row(action: #"{"truncate":5}"#, wire: .truncate(bytes: 5), isDelivered: true),
        Row(action: #"{"max_concurrent_streams":3}"#, wire: .maxConcurrentStreams(3), isDelivered: true),
        Row(action: #"{"delay_ms":20}"#, wire: nil, isDelivered: true),
    ]

    @Test(arguments: rows)
    func `an action below HTTP is passed to the server`(row: Row) throws {
        var trial = Trial()
        trial.control("POST", "/faults", #"{"match":{"path":"/v1/"},"action":"# + row.action + "}")
        let reply = trial.send("t")
        #expect(reply.wire == row.wire)
        #expect(try trial.deliveries("t").count == (row.isDelivered ? 1 : 0))
        if row.wire == nil { #expect(reply.delayMs == 20) }
    }

    @Test func `a new connection gets the stream limit in force`() {
        var trial = Trial()
        #expect(trial.simulator.connectionOpened() == nil)
        trial.control("POST", "/faults", #"{"action":{"max_concurrent_streams":3}}"#)
        #expect(trial.simulator.connectionOpened() == 3)
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"action":{}}"#, #"{"action":{"stauts":500}}"#, #"{"action":{"status":99}}"#,
        #"{"action":{"reset":"SOMETIMES"}}"#, #"{"action":{"close":true},"times":0}"#,
        #"{"action":{"without_id":true}}"#, #"{"action":{"stanza":1},"match":{"path":"xmpp"}}"#,
        #"{"action":{"close":true},"match":{"fraction":2}}"#, #"{"action":{"close":true},"match":{"pfad":"/"}}"#,
        #"{"action":{"status":500,"retry_after":"1\r\nx: y"}}"#, #"{"action":{"nack":"x"},"match":{"path":"xmpp"}}"#,
    ])
    func `a fault without effect is refused`(body: String) throws {
        var trial = Trial()
        let reply = trial.control("POST", "/faults", body)
        #expect(reply.status == 400)
        #expect(try reply.json()["error"]?.string?.isEmpty == false)
    }

    @Test func `unknown control paths and faults are answered with 404`() {
        var trial = Trial()
        #expect(trial.control("GET", "/nothing").status == 404)
    }

    @Test func `the clock moves forward only`() {
        var trial = Trial()
        #expect(trial.control("POST", "/clock", #"{"advance_ms":-1}"#).status == 400)
    }
}
