import FanfareJSON
import FanfareModel
import Foundation
import TestSupport
import Testing

@testable import FanfareCore

/// Compares the description of Fanfare's own API with its routes, its fields and its errors.
@Suite struct OpenAPITests {
    private let document: JSONObject

    init() throws {
        let file = Repository.root.appendingPathComponent("Sources/Gateway/FanfareGateway/openapi.json")
        document = try #require(try JSONParser.parse([UInt8](Data(contentsOf: file))).object)
    }

    private func component(_ kind: String, _ name: String) throws -> JSONObject {
        try #require(document["components"]?.object?[kind]?.object?[name]?.object)
    }

    /// Such as `POST /v1/projects/{project}/jobs push`.
    @Test func everyOperationIsDescribedWithItsRight() throws {
        let routes = OwnRoute.all.flatMap { route in
            route.operations.map { "\($0.method) \(route.template) \($0.right?.rawValue ?? "")" }
        }
        let methods = ["get", "put", "post", "delete", "patch"]
        var described: [String] = []
        for path in try #require(document["paths"]?.object?.members) {
            for operation in path.value.object?.members ?? [] where methods.contains(operation.key) {
                let security = operation.value.object?["security"]?.array ?? []
                let right = security.first?.object?["key"]?.array?.first?.string ?? ""
                described.append("\(operation.key.uppercased()) \(path.key) \(right)")
            }
        }
        #expect(described.sorted() == routes.sorted())
    }

    @Test func everyFieldOfAJobIsDescribedWithItsForm() throws {
        let properties = try #require(try component("schemas", "Job")["properties"]?.object)
        #expect(Set(properties.members.map(\.key)) == Set(EntryField.allCases.map(\.rawValue)))
        for field in EntryField.allCases {
            let schema = try #require(properties[field.rawValue]?.object)
            let type = schema["type"]?.string
            switch field.form {
            case .object: #expect(type == "object", "\(field)")
            case .array: #expect(type == "array", "\(field)")
            case .flag: #expect(type == "boolean", "\(field)")
            case .text: #expect(type == "string" || schema["enum"] != nil, "\(field)")
            case .number(let range):
                #expect(type == "integer", "\(field)")
                #expect(schema["minimum"]?.number?.int64 == range.lowerBound, "\(field)")
                #expect(schema["maximum"]?.number?.int64 == range.upperBound, "\(field)")
            case .textOrNumber: #expect(schema["anyOf"]?.array?.count == 2, "\(field)")
            }
        }
        func words(_ field: EntryField) -> [String] {
            (properties[field.rawValue]?.object?["enum"]?.array ?? []).compactMap(\.string)
        }
        #expect(words(.op) == Operation.allCases.map(\.rawValue))
        #expect(words(.delivery) == DeliveryMode.allCases.map(\.rawValue))
        #expect(words(.format) == MessageFormat.allCases.map(\.rawValue))
        #expect(Set(words(.results)) == Set(ResultsPolicy.allCases.map(\.rawValue)).subtracting([""]))
    }

    @Test func wordsOfAFilterAreDescribed() throws {
        func words(_ operation: String, _ parameter: String) throws -> [String] {
            let paths = try #require(document["paths"]?.object?.members)
            let get = paths.compactMap { $0.value.object?["get"]?.object }.first {
                $0["operationId"]?.string == operation
            }
            let found = get?["parameters"]?.array?.first { $0.object?["name"]?.string == parameter }
            return (found?.object?["schema"]?.object?["enum"]?.array ?? []).compactMap(\.string)
        }
        #expect(try words("listJobs", "state") == OwnRoute.states)
        #expect(try words("readResults", "status") == ResultStatus.allCases.map(\.rawValue))
    }

    @Test func everyAnswerIsOneOfTheDescribedOnes() throws {
        let responses = try #require(document["components"]?.object?["responses"]?.object)
        #expect(responses.count == ProblemDetails.titles.count)
        for path in try #require(document["paths"]?.object?.members) {
            for operation in path.value.object?.members ?? [] where operation.key != "parameters" {
                for answer in operation.value.object?["responses"]?.object?.members ?? [] {
                    guard let status = Int(answer.key), status >= 400 else { continue }
                    #expect(ProblemDetails.titles.contains { $0.key == status }, "\(path.key): \(status)")
                }
            }
        }
    }
}
