internal import FanfareJSON
public import FanfareModel

/// A request of the legacy protocol, `POST /fcm/send` or `/gcm/send`, as the job that it asks for.
///
/// The rules are in Google's reference ("Legacy HTTP Server Protocol"). The exceptions are what clients send by
/// their sources: python-gcm, PyFCM before 2.0, node-gcm, Ruby's fcm, go-fcm and rpush. Workers are stricter than Google
/// was, so ``LegacyFields`` writes the message again. A message that a worker would reject is refused here.
///
/// Equal requests have equal bytes in ``message``, in whatever order their members stand.
public struct LegacyRequest: Equatable, Sendable {
    /// The kind of ``recipients``. A device group's key in `to` is a token: it looks like one, and FCM takes it as one.
    public let kind: RecipientKind
    /// The recipients of the job: the tokens in the request's order, each once and without malformed ones, or the one
    /// topic, condition or group. Never empty.
    public let recipients: [String]
    /// The job's `message`, of format `legacy`. The answer does not need it.
    public var message: [UInt8]
    /// Members that FCM's legacy protocol does not have, such as `apns` and `notification.image`, which were left out.
    public let ignored: [String]
    /// True for `dry_run`.
    public let validateOnly: Bool
    /// Where the answer finds the outcome of each token of the request.
    let slots: [LegacyTarget.Slot]
    let shape: LegacyShape

    /// - Parameters:
    ///   - body: decoded, so not `gzip` any more.
    ///   - contentType: the header's value. Without one the body is plain text, as the reference says.
    /// - Throws: a fault that holds the answer: nothing is to be sent.
    public init(_ body: [UInt8], contentType: String?) throws(LegacyFault) {
        let isJSON = contentType?.lowercased().contains("json") ?? false
        var shape = isJSON ? LegacyShape.list : .text
        var tokens = 1
        do throws(LegacyFault.Reason) {
            let object = isJSON ? try Self.object(body) : try LegacyForm.object(body)
            let target = isJSON ? try LegacyTarget(object) : try LegacyTarget(form: object)
            if isJSON { shape = target.shape }
            tokens = target.slots.count
            (kind, recipients, slots) = (target.kind, target.recipients, target.slots)
            validateOnly = try LegacyFields.isDryRun(object)
            ignored = LegacyFields.ignored(of: object)
            message = try Self.message(of: object, isBroadcast: kind.isBroadcast)
            guard !recipients.isEmpty else { throw .codes(slots.compactMap(\.refusal)) }
        } catch {
            throw LegacyFault(error, shape: shape, tokens: tokens)
        }
        self.shape = shape
    }

    /// Sentences as the live server wrote them.
    private static func object(_ body: [UInt8]) throws(LegacyFault.Reason) -> JSONObject {
        let text = Array(ByteOrderMark.removed(from: body))
        let value: JSONValue
        do throws(JSONError) {
            let limits = JSONLimits(maximumDepth: MessageChecker.maximumDepth, maximumBytes: .max)
            value = try JSONParser.parse(text, limits: limits)
        } catch {
            let found =
                error.offset < text.count
                ? "Unexpected character (\(Excerpt.plain(String(decoding: [text[error.offset]], as: UTF8.self))))"
                : "Unexpected token END OF FILE"
            throw .sentence("JSON_PARSING_ERROR: \(found) at position \(error.offset).")
        }
        guard let object = value.object else {
            throw .sentence("JSON_PARSING_ERROR: Expected an object at position 0.")
        }
        return object
    }

    /// The message's bytes, after the checks of a worker.
    private static func message(of object: JSONObject, isBroadcast: Bool) throws(LegacyFault.Reason) -> [UInt8] {
        let bytes = JSONValue.object(try LegacyFields.message(of: object)).jsonBytes
        let checker = MessageChecker(format: .legacy, traits: .multicast, isBroadcast: isBroadcast)
        do throws(EntryFault) { try checker.check(bytes) } catch { throw LegacyFault.Reason(problem: error.reason) }
        return bytes
    }
}
