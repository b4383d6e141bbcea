import FCMWire
import FanfareModel
import Testing

@Suite struct PlainTextTemplateTests {
    static func form(
        _ message: String,
        _ format: MessageFormat = .legacy,
        validateOnly: Bool = false,
        delivery: DeliveryMode = .atLeastOnce,
        token: String = "T"
    ) throws -> String {
        let template = try PlainTextTemplate(
            SourceMessage(
                Array(message.utf8),
                format: format,
                validateOnly: validateOnly,
                delivery: delivery,
                jobID: "job-1"
            )
        )
        var body: [UInt8] = []
        template.render(token: token, into: &body)
        return String(decoding: body, as: UTF8.self)
    }

    static let forms: [(String, String)] = [
        ("{}", "registration_id=T"),
        (
            #"{"collapse_key":"score_update","time_to_live":108,"data":{"score":"4x8"}}"#,
            "registration_id=T&collapse_key=score_update&time_to_live=108&data.score=4x8"
        ),
        (
            #"{"restricted_package_name":"com.x","dry_run":true,"collapse_key":null}"#,
            "registration_id=T&restricted_package_name=com.x&dry_run=true"
        ),
        (#"{"dry_run":false,"data":{}}"#, "registration_id=T"),
        (#"{"time_to_live":1e2}"#, "registration_id=T&time_to_live=100"),
        // Whatever stands in a key or a value, it ends neither its field nor its name.
        (
            #"{"data":{"a=b&c":"x=1&registration_id=U","":"","é":"a b+c%20\r\n\u0000"}}"#,
            "registration_id=T&data.a%3Db%26c=x%3D1%26registration_id%3DU&data.="
                + "&data.%C3%A9=a%20b%2Bc%2520%0D%0A%00"
        ),
        (#"{"data":{"n":1.50,"o":{"k":[true]}}}"#, "registration_id=T&data.n=1.50&data.o=%7B%22k%22%3A%5Btrue%5D%7D"),
    ]

    @Test(arguments: forms)
    func writesAForm(message: String, form: String) throws {
        #expect(try Self.form(message) == form)
    }

    @Test func aTokensColonIsEscaped() throws {
        #expect(try Self.form("{}", token: "a:b-c_d.e") == "registration_id=a%3Ab-c_d.e")
    }

    @Test func validatingIsADryRun() throws {
        #expect(try Self.form("{}", validateOnly: true) == "registration_id=T&dry_run=true")
        #expect(try Self.form(#"{"dry_run":false}"#, validateOnly: true) == "registration_id=T&dry_run=true")
        #expect(try Self.form("{}", .v1, validateOnly: true) == "registration_id=T&dry_run=true")
    }

    @Test func replacingAddsNothingWhereNothingIsShown() throws {
        #expect(try Self.form(#"{"data":{"k":"v"}}"#, delivery: .replace) == "registration_id=T&data.k=v")
    }

    static let refusals: [(String, String)] = [
        (#"{"registration_id":"x"}"#, "message.registration_id: the target belongs in the job's own field"),
        (#"{"unheard_of":1}"#, "message.unheard_of: has no counterpart in plain text"),
        (#"{"time_to_live":"60"}"#, "message.time_to_live: must be an integer from 0 to 2419200"),
        (#"{"time_to_live":2419201}"#, "message.time_to_live: must be an integer from 0 to 2419200"),
        (#"{"dry_run":1}"#, "message.dry_run: must be a boolean, not a number"),
        (#"{"collapse_key":5}"#, "message.collapse_key: must be a string, not a number"),
        (#"{"data":"x"}"#, "message.data: must be an object, not a string"),
        (#"{"data":{"k":null}}"#, "message.data.k: null has no text form"),
        ("[]", "message: must be an object"),
    ]

    @Test(arguments: refusals)
    func refusesByName(message: String, reason: String) {
        #expect(throws: TranslationError(reason: reason)) { try Self.form(message) }
    }

    @Test func theMessagesLifetimeIsItsTimeToLive() throws {
        func lifetime(_ message: String) throws -> Int64? {
            try PlainTextTemplate(
                SourceMessage(
                    Array(message.utf8),
                    format: .legacy,
                    validateOnly: false,
                    delivery: .atLeastOnce,
                    jobID: "j"
                )
            ).lifetime?.milliseconds(firstAttemptMs: 5_000)
        }
        #expect(try lifetime(#"{"time_to_live":60}"#) == 60_000)
        #expect(try lifetime(#"{"time_to_live":0}"#) == 0)
        #expect(try lifetime("{}") == nil)
    }
}
