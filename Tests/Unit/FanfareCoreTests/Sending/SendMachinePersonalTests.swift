import FCMWire
import FanfareModel
import Testing

@testable import FanfareCore
@testable import StreamWire

/// Personal jobs: a message for each recipient, whose element stays with it.
@Suite struct SendMachinePersonalTests {
    private static let variants = Array(#"{"es":{"data":{"text":"Hola {{name}}"}}}"#.utf8)

    private static func spec(total: Int = 1, change: (inout Job) -> Void = { _ in }) -> JobSpec {
        .message(to: .recipients([]), total: total) { job in
            job.isPersonal = true
            job.message = Array(#"{"data":{"text":"Hi {{name}}"}}"#.utf8)
            job.variants = variants
            change(&job)
        }
    }

    private static func element(_ token: String, _ name: String, variant: String? = nil) -> String {
        let variant = variant.map { #","variant":"\#($0)""# } ?? ""
        return #"{"token":"\#(token)","vars":{"name":"\#(name)"}\#(variant)}"#
    }

    private func bodies(_ rig: MachineRig) -> [String] {
        rig.requests.map { String(decoding: $0.request.body, as: UTF8.self) }
    }

    @Test func eachRecipientGetsItsOwnMessage() {
        var rig = MachineRig()
        rig.hold(
            .named([Self.element("a", "Ana"), Self.element("b", "Bo", variant: "es-MX")], "j"),
            Self.spec(total: 2)
        )
        rig.send()
        #expect(
            bodies(rig) == [
                #"{"message":{"token":"a","data":{"text":"Hi Ana"}}}"#,
                #"{"message":{"token":"b","data":{"text":"Hola Bo"}}}"#,
            ]
        )
        rig.answer(.sent())
        rig.answer(.dead)
        rig.flushNow()
        let objects = rig.flushes.map(\.call.objects).joined()
        #expect(objects.contains(#""token":"a","status":"sent""#) && !objects.contains("Ana"), "\(objects)")
        #expect(rig.flushes.flatMap(\.call.feedback).map(\.recipient) == ["b"])
    }

    @Test func retriesKeepTheElement() {
        var rig = MachineRig()
        let element = Self.element("a", "Ana")
        rig.hold(.named([element], "j"), Self.spec())
        rig.send()
        rig.answer(.overloaded)
        rig.flushNow()
        let packed = rig.flushes.flatMap(\.call.retries).map(\.packed)
        #expect(packed.count == 1 && packed[0].hasSuffix("|" + element), "\(packed)")
    }

    /// Equal elements are sent once; one token with two messages gets both.
    @Test func onlyEqualElementsShareASend() {
        var rig = MachineRig()
        let elements = [Self.element("a", "Ana"), Self.element("a", "Bo"), Self.element("a", "Ana")]
        rig.hold(.named(elements, "j"), Self.spec(total: 3))
        rig.send()
        #expect(rig.requests.count == 2)
        rig.answer(.sent())
        rig.answer(.sent())
        rig.confirmAll()
        #expect(rig.outcomes == [.closed])
    }

    @Test(arguments: [
        ("no JSON", "not JSON at byte 0: unexpected character where a value should be"), ("", "not JSON at byte 0"),
        (#"{"token":"a"}"#, "vars.name: missing"),
        (#"{"token":"a b","vars":{"name":"x"}}"#, "not a registration token"),
        (#"{"token":"a","vars":{"name":"\#(String(repeating: "x", count: 1_025))"}}"#, "vars.name: 1025 bytes"),
        (#"{"token":"a","vars":{"name":"x"},"y":1}"#, "y: unknown field"),
        (String(repeating: " ", count: PersonalSends.maximumElementBytes + 1), "at most 262144"),
    ])
    func badElementFailsWithoutASend(element: String, reason: String) {
        var rig = MachineRig()
        rig.hold(.named([element, Self.element("b", "Bo")], "j"), Self.spec(total: 2))
        rig.send()
        #expect(rig.requests.count == 1)
        rig.flushNow()
        let objects = rig.flushes.map(\.call.objects).joined()
        #expect(objects.contains(#""status":"failed""#) && objects.contains(reason), "\(objects)")
    }

    @Test func legacySendsOneRequestForEachRecipient() {
        var settings = SendMachine.Settings()
        settings.protocols = ProtocolSettings(transport: .legacy)
        var rig = MachineRig(settings)
        let elements = [Self.element("a", "Ana"), #"{"fid":"b","vars":{"name":"Bo"}}"#, Self.element("c", "Cy")]
        rig.hold(.named(elements, "j"), Self.spec(total: 3))
        rig.send()
        #expect(bodies(rig) == [#"{"to":"a","data":{"text":"Hi Ana"}}"#, #"{"to":"c","data":{"text":"Hi Cy"}}"#])
        rig.flushNow()
        #expect(rig.flushes.map(\.call.objects).joined().contains(#""fid":"b","status":"failed""#))
    }

    /// The lifetime is that of the variant's message.
    @Test func lifetimeDependsOnTheVariant() {
        var rig = MachineRig()
        let variants = #"{"es":{"android":{"ttl":"0s"}}}"#
        let elements = [Self.element("a", "Ana"), Self.element("b", "Bo", variant: "es")]
        rig.hold(.named(elements, "j"), Self.spec(total: 2) { $0.variants = Array(variants.utf8) })
        rig.send()
        rig.answer(.overloaded)
        rig.answer(.overloaded)
        rig.flushNow()
        let fates = rig.flushes.reduce(into: [Int: String]()) { $0.merge($1.call.fates) { $1 } }
        #expect(fates[0] == "r" && fates[1] != "r", "\(fates)")
    }
}
