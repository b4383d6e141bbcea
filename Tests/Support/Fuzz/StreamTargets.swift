import ExpatKit
import FanfareClient
import FanfareXML
import StreamWire

@testable import FCMWire
@testable import RedisTransport

/// Parsers of streams, whose input arrives in pieces: XMPP's XML and Redis' replies.
extension FuzzTarget {
    private static let header =
        "<?xml version='1.0'?><stream:stream xmlns:stream='http://etherx.jabber.org/streams' xmlns='jabber:client'>"
    private static let gcm = "<message><gcm xmlns='google:mobile:data'>"

    private static let stanzas = [
        header + "<stream:features><mechanisms xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><mechanism>PLAIN</mechanism>"
            + "</mechanisms></stream:features>",
        header + gcm + #"{"message_type":"ack","message_id":"m1","from":"t"}</gcm></message>"#,
        header + gcm + #"{"message_type":"nack","message_id":"m1","from":"t","error":"BAD_ACK"}</gcm></message>"#,
        header + gcm + #"{"category":"c","data":{"k":"v"},"message_id":"u1","from":"t"}</gcm></message>"#,
        header + "<iq type='result' id='bind-1'/></stream:stream>", "<!DOCTYPE a [<!ENTITY e \"x\">]><a>&e;</a>",
    ]

    /// Splits all bytes after the first into pieces; the first byte is the size of a piece.
    private static func pieces(_ bytes: [UInt8]) -> [[UInt8]] {
        let size = max(1, Int(bytes.first ?? 1))
        return stride(from: 1, to: bytes.count, by: size).map { Array(bytes[$0..<min(bytes.count, $0 + size)]) }
    }

    private static func events(_ parser: XMLStreamParser, _ pieces: [[UInt8]]) -> (events: [XMLStreamEvent], ok: Bool) {
        var all: [XMLStreamEvent] = []
        do throws(XMLStreamError) {
            for piece in pieces { all += try parser.feed(piece) }
            all += try parser.feed([])
        } catch {
            return (all, false)
        }
        return (all, true)
    }

    static let xmlStream = FuzzTarget(name: "xml", seeds: stanzas.map { "\u{8}" + $0 }) { bytes in
        let limits = XMLStreamLimits(
            maximumStanzaBytes: 2_000,
            maximumDepth: 8,
            maximumAttributes: 8,
            maximumTagBytes: 500
        )
        let cut = events(XMLStreamParser(limits: limits), pieces(bytes))
        let whole = events(XMLStreamParser(limits: limits), [Array(bytes.dropFirst())])
        check(cut.events == whole.events && cut.ok == whole.ok, "the split changes the events: \(cut), \(whole)")
    }

    static let xmppSession = FuzzTarget(name: "xmpp", seeds: stanzas.map { "\u{40}" + $0 }) { bytes in
        var settings = XMPPSessionSettings(user: "u@h", password: "p")
        settings.window = 3
        var session = XMPPSession(settings)
        var outcomes: [UInt64: Int] = [:]
        var tags: UInt64 = 0
        func handle(_ event: XMPPSession.Event, _ nowMs: Int64) {
            for case .complete(let tag, _) in session.handle(event, nowMs: nowMs) { outcomes[tag, default: 0] += 1 }
        }
        let parser = XMLStreamParser()
        handle(.connected, 0)
        var nowMs: Int64 = 0
        for piece in pieces(bytes) {
            nowMs += 100
            guard let events = try? parser.feed(piece) else {
                handle(.unreadable(reason: "garbage"), nowMs)
                break
            }
            for event in events { handle(.arrived(event), nowMs) }
            if session.room > 0 {
                tags += 1
                handle(.send(tag: tags, messageID: "m\(tags)", json: Array("{}".utf8)), nowMs)
            }
        }
        handle(.lost(reason: "end", handedOver: .max), nowMs)
        check(outcomes.count == Int(tags) && outcomes.values.allSatisfy { $0 == 1 }, "one outcome for each message")
    }

    static let redisReplies = FuzzTarget(
        name: "redis",
        seeds: [
            "\u{7}*2\r\n$3\r\nfoo\r\n:42\r\n", "\u{3}-ERR x\r\n+OK\r\n$-1\r\n*-1\r\n*0\r\n",
            "\u{9}*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n",
            "\u{1}*4\r\n$6\r\nnow_ms\r\n:1\r\n$5\r\npause\r\n$1\r\nx\r\n", "\u{2}*1000000000\r\n",
            "\u{2}$99999999999\r\n",
        ]
    ) { bytes in
        let reader = ReplyReader(limits: RedisLimits())
        defer { reader.close() }
        do throws(RedisError) {
            for piece in pieces(bytes) {
                var failure: RedisError?
                piece.withUnsafeBytes { buffer in
                    do throws(RedisError) { try reader.feed(buffer) } catch { failure = error }
                }
                if let failure { throw failure }
                while let value = try reader.next() { interpret(value) }
            }
        } catch {
            check(error.code == .protocolError, "\(error.code) is not a protocol error")
            let isClean = error.message.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
            check(isClean, "a message holds no control character")
        }
    }

    /// Passes a value to every parser of replies, because a server of another version may answer anything.
    private static func interpret(_ value: RedisValue) {
        _ = ClaimReply.parse(value)
        _ = JobSpec(value)
        _ = IntakeReply(value)
        _ = RecordReply(value)
        _ = OverviewReply(value)
        _ = JobControlReply(value)
        _ = EntryCancelReply(value)
        _ = ReplayReply(value)
        _ = DropReply(value)
        _ = StreamEntry(value)
        _ = JobInquiry.milliseconds(value)
        _ = JobStatus(id: "j", reply: value)
        for (_, entries) in StreamEntry.byStream(value) {
            for entry in entries {
                _ = try? ResultEntry(entry)
                _ = try? DeadEntry(entry)
            }
        }
    }
}
